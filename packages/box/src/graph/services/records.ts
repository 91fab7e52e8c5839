/** What is known of services that were started: one file each in run/graph/services, written whole or not at all. */

import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StartMode } from '@skillbox/protocol';
import { readJsonFile, writeRunFile } from '../../private-file.ts';
import type { ProcessIdentity } from '../../process/identity.ts';
import { graphFolder } from '../runtime.ts';

export interface ServiceRecord {
  readonly id: string;
  readonly client: string | undefined;
  /** up asked for it, and down did not since. */
  readonly wanted: boolean;
  readonly mode: StartMode;
  /** The selection it was started with, so that pulse finds it again. */
  readonly selection: { readonly client: string | undefined; readonly profiles: readonly string[] };
  /** On the host: its process, the leader of its group. Never a pid alone. */
  readonly process: ProcessIdentity | undefined;
  /** In a sandbox: which, and which program there. */
  readonly sandbox: { readonly id: string; readonly program: number } | undefined;
  readonly startedAt: string;
  /** By pulse, since somebody last started it by hand. */
  readonly restarts: number;
  /** Of command, env, cwd and template: whether what runs is what is declared. */
  readonly definition: string;
  readonly log: string;
  /**
   * Known before the process is there, and part of its environment: when who starts it is killed in between, the next one finds it by this.
   */
  readonly run?: string | undefined;
  /** Why its last start came to nothing. */
  readonly failure?: string | undefined;
  /** The server of the box: the words it was started with. */
  readonly words?: readonly string[] | undefined;
  /** Between SIGTERM and SIGKILL, for when it is declared no more. */
  readonly stopMs?: number | undefined;
  /** Services it needed, for when it is declared no more. */
  readonly dependsOn?: readonly string[] | undefined;
}

const recordFolder = (stateRoot: string): string => join(graphFolder(stateRoot), 'services');
const recordFile = (stateRoot: string, id: string): string => join(recordFolder(stateRoot), `${id}.json`);

export function readServiceRecord(stateRoot: string, id: string): ServiceRecord | undefined {
  return readJsonFile<ServiceRecord>(recordFile(stateRoot, id));
}

/** By id. */
export function readServiceRecords(stateRoot: string): ServiceRecord[] {
  return namesIn(recordFolder(stateRoot))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => readServiceRecord(stateRoot, name.slice(0, -'.json'.length)) ?? []);
}

export function writeServiceRecord(stateRoot: string, record: ServiceRecord): void {
  mkdirSync(recordFolder(stateRoot), { recursive: true, mode: 0o700 });
  writeRunFile(recordFile(stateRoot, record.id), `${JSON.stringify(record)}\n`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
