/** .focus.json in the state root: what was last focused and how it was found, written whole or not at all. */

import { join } from 'node:path';
import type { Activity, Attention, FocusReport, LastFocus, RepoState, ServiceStatus, StartMode } from '@skillbox/protocol';
import { readJsonFile, writePrivateFile } from '../../private-file.ts';
import type { Graph } from '../graph.ts';

/** What collect saw; nothing in it is secret. */
export interface Live {
  readonly collected_at: string;
  readonly attention: readonly Attention[];
  readonly services: readonly ServiceStatus[];
  readonly repos: readonly RepoState[];
  readonly errors: FocusReport['errors'];
  readonly activity: readonly Activity[];
  readonly sessions: readonly string[];
}

export interface FocusRecord {
  readonly version: 1;
  readonly client: string;
  /** As they were asked for, core aside. */
  readonly profiles: readonly string[];
  readonly services: readonly string[];
  readonly mode: StartMode;
  readonly focused_at: string;
  readonly ok: boolean;
  readonly config_hash: string;
  /** Missing in records of older boxes. */
  readonly steps?: FocusReport['steps'];
  /** Files that agents read; missing in records of older boxes. */
  readonly context?: readonly string[];
  readonly live: Live;
}

const nothingSeen: Live = { collected_at: '', attention: [], services: [], repos: [], errors: [], activity: [], sessions: [] };

export const focusFile = (stateRoot: string): string => join(stateRoot, '.focus.json');

export function readFocus(stateRoot: string): FocusRecord | undefined {
  const record = readJsonFile<FocusRecord>(focusFile(stateRoot));
  // Whoever edited the file may have taken what was seen away: nobody who reads it falls over that.
  return record?.version === 1 ? { ...record, live: { ...nothingSeen, ...record.live } } : undefined;
}

/** As status tells it; attention and services it looks at anew. */
export function lastFocus(stateRoot: string): LastFocus | null {
  const record = readFocus(stateRoot);
  if (!record) return null;
  const { ok, client, profiles, services, mode, focused_at, steps = [], context = [], live } = record;
  const { repos, errors, activity, sessions } = live;
  return {
    ...{ ok, client, profiles: [...profiles], services: [...services], mode, focused_at, steps: [...steps] },
    ...{ repos: [...repos], errors: [...errors], activity: [...activity], sessions: [...sessions], context: [...context] },
  };
}

export const writeFocus = (stateRoot: string, record: FocusRecord): void =>
  writePrivateFile(focusFile(stateRoot), `${JSON.stringify(record, null, 1)}\n`);

/** Profiles beside core, as --profile takes them. */
export const askedProfiles = (graph: Pick<Graph, 'profiles'>): string[] => graph.profiles.filter((name) => name !== 'core');

export const isFocusOf = (record: FocusRecord, graph: Graph): boolean =>
  record.client === graph.client?.id && [...record.profiles].sort().join() === askedProfiles(graph).sort().join();
