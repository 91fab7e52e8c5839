/**
 * A session on the disk: logs/clients/<client>/sessions/<id>/{meta.json, events.jsonl, handoff.md}, the box's own ground, so that
 * nothing inside can rewrite what happened. meta.json is written whole or not at all; events.jsonl only grows, and its time of
 * change is the last sign of life.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { BoxError, clientPattern, type SessionEvent, sessionIdPattern, type WorkSession } from '@skillbox/protocol';
import { readJsonFile, writePrivateFile } from '../../private-file.ts';

export interface Meta {
  readonly session_id: string;
  readonly client_id: string;
  readonly label: string | null;
  readonly goal: string | null;
  readonly state: WorkSession['state'];
  readonly started_at: string;
  /** Of the last change of state; what happened since tells events.jsonl. */
  readonly updated_at: string;
  readonly ended_at: string | null;
  readonly resumed: number;
  readonly summary: string | null;
  /** How many events the first so many bytes of events.jsonl hold: a list need not read them again. */
  readonly counted: { readonly events: number; readonly bytes: number };
}

/** An active session that gave no sign of life for this long is shown as stale; nobody ends it but a person or an agent. */
const staleMs = 3_600_000;
const halfMadeMs = 3_600_000;

const clientsFolder = (stateRoot: string): string => join(stateRoot, 'logs', 'clients');
const sessionsFolder = (stateRoot: string, client: string): string => join(clientsFolder(stateRoot), client, 'sessions');
const metaFile = (folder: string): string => join(folder, 'meta.json');
const eventsFile = (folder: string): string => join(folder, 'events.jsonl');
const handoffFile = (folder: string): string => join(folder, 'handoff.md');

/** Appears whole, with its first event, or not at all. */
export function createFolder(stateRoot: string, meta: Meta, first: SessionEvent): string {
  const parent = sessionsFolder(stateRoot, meta.client_id);
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  removeHalfMade(parent);
  const temporary = join(parent, `.new-${meta.session_id}`);
  mkdirSync(temporary, { mode: 0o700 });
  appendEvent(temporary, first);
  writePrivateFile(metaFile(temporary), lineOf(meta));
  const folder = join(parent, meta.session_id);
  renameSync(temporary, folder);
  return folder;
}

/** Sorts by time: YYYYMMDD-HHMMSS and six hex digits. */
export function newSessionId(now: Date): string {
  const digits = now.toISOString().replace(/\D/g, '');
  return `${digits.slice(0, 8)}-${digits.slice(8, 14)}-${randomBytes(3).toString('hex')}`;
}

export function findFolder(stateRoot: string, id: string): string | undefined {
  if (!sessionIdPattern.test(id)) return undefined;
  return clientsWithSessions(stateRoot)
    .map((client) => join(sessionsFolder(stateRoot, client), id))
    .find((folder) => existsSync(metaFile(folder)));
}

/** Clients that ever had a session, also those whose overlay is gone. */
export const clientsWithSessions = (stateRoot: string): string[] =>
  namesIn(clientsFolder(stateRoot)).filter((name) => clientPattern.test(name) && existsSync(sessionsFolder(stateRoot, name)));

/** Folders of sessions, the newest first. */
export function sessionFolders(stateRoot: string, client: string | undefined): string[] {
  const clients = client === undefined ? clientsWithSessions(stateRoot) : [client];
  return clients
    .flatMap((name) =>
      namesIn(sessionsFolder(stateRoot, name))
        .filter((id) => sessionIdPattern.test(id))
        .map((id) => ({ id, folder: join(sessionsFolder(stateRoot, name), id) })),
    )
    .sort((one, other) => (one.id < other.id ? 1 : -1))
    .map(({ folder }) => folder);
}

/** undefined when somebody removed it meanwhile. */
export const readMeta = (folder: string): Meta | undefined => readJsonFile<Meta>(metaFile(folder));
export const writeMeta = (folder: string, meta: Meta): void => writePrivateFile(metaFile(folder), lineOf(meta));
export const writeHandoff = (folder: string, text: string): void => writePrivateFile(handoffFile(folder), text);
export const readHandoff = (folder: string): string | null =>
  existsSync(handoffFile(folder)) ? readFileSync(handoffFile(folder), 'utf8') : null;

/** One write at the end of the file, on the disk when this returns. What a crash left of a line before it stays a line of its own. */
export function appendEvent(folder: string, event: SessionEvent): void {
  const fd = openSync(eventsFile(folder), 'a+', 0o600);
  try {
    const { size } = fstatSync(fd);
    const last = Buffer.alloc(1);
    const torn = size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
    const bytes = Buffer.from(`${torn ? '\n' : ''}${lineOf(event)}`);
    if (writeSync(fd, bytes) < bytes.length) throw new BoxError('unavailable', `The disk took only a part of the event: ${folder}`);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whole lines that are events; what a crash tore is passed over. */
export function readEvents(folder: string, from = 0): SessionEvent[] {
  return readFileSync(eventsFile(folder))
    .subarray(from)
    .toString('utf8')
    .split('\n')
    .flatMap((line) => parseEvent(line) ?? []);
}

export const eventBytes = (folder: string): number => statSync(eventsFile(folder)).size;

export function describeSession(folder: string, meta: Meta, now = Date.now()): WorkSession {
  const { counted, ...told } = meta;
  const { size, mtime } = statSync(eventsFile(folder));
  const active = meta.state === 'active';
  const updated = active && mtime.toISOString() > meta.updated_at ? mtime.toISOString() : meta.updated_at;
  return {
    ...told,
    updated_at: updated,
    events: counted.events + (size > counted.bytes ? readEvents(folder, counted.bytes).length : 0),
    stale: active && now - Date.parse(updated) > staleMs,
    path: folder,
  };
}

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`;

function parseEvent(line: string): SessionEvent | undefined {
  if (line === '') return undefined;
  try {
    const event = JSON.parse(line) as SessionEvent;
    return typeof event?.ts === 'string' && typeof event.type === 'string' ? event : undefined;
  } catch {
    // Torn by a crash: the writer was never told that it is kept.
    return undefined;
  }
}

/** Of who was killed between making and naming a folder; another start may be at it just now, so only those of long ago. */
function removeHalfMade(parent: string): void {
  for (const name of namesIn(parent).filter((entry) => entry.startsWith('.new-'))) {
    const folder = join(parent, name);
    const since = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > halfMadeMs) rmSync(folder, { recursive: true, force: true });
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
