/** What is known of services that were started: one file each in run/graph/services, written whole or not at all. */

import type { StartMode } from '@skillbox/protocol';
import type { ProcessIdentity } from '../../process/identity.ts';

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
}

export function readServiceRecord(_stateRoot: string, _id: string): ServiceRecord | undefined {
  throw new Error('being written');
}

export function readServiceRecords(_stateRoot: string): ServiceRecord[] {
  throw new Error('being written');
}

export function writeServiceRecord(_stateRoot: string, _record: ServiceRecord): void {
  throw new Error('being written');
}
