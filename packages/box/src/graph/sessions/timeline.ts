/** The life of a session: active, then completed, failed or abandoned, and perhaps active again. One writer at a time for each. */

import { createHash } from 'node:crypto';
import { realpathSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type SessionEvent, type WorkSession } from '@skillbox/protocol';
import { tryLock } from '../../process/abstract-lock.ts';
import { formatSize } from '../../units.ts';
import {
  appendEvent,
  createFolder,
  describeSession,
  eventBytes,
  findFolder,
  type Meta,
  newSessionId,
  readEvents,
  readHandoff,
  readMeta,
  sessionFolders,
  writeHandoff,
  writeMeta,
} from './folder.ts';
import { handoff } from './handoff.ts';

export type EndState = Exclude<WorkSession['state'], 'active'>;

export interface SessionDetail extends WorkSession {
  timeline: SessionEvent[];
  handoff: string | null;
}

const mostEventBytes = 64 * 1024;
const mostTimelineBytes = 8 * 1024 * 1024;
/** Of a timeline, what one answer shows: the newest. */
const mostShown = 1000;
const patienceMs = 30_000;

export function beginTimeline(stateRoot: string, about: Pick<Meta, 'client_id' | 'label' | 'goal'>): WorkSession {
  const now = new Date();
  const time = now.toISOString();
  const meta: Meta = {
    session_id: newSessionId(now),
    ...about,
    state: 'active',
    ...{ started_at: time, updated_at: time, ended_at: null, resumed: 0, summary: null, counted: { events: 0, bytes: 0 } },
  };
  const detail = { ...(about.label && { label: about.label }), ...(about.goal && { goal: about.goal }) };
  const first = { ...eventOf(meta, 'session.started', detail), ts: time };
  return describeSession(createFolder(stateRoot, meta, first), meta);
}

export function addToTimeline(stateRoot: string, id: string, type: string, detail: Record<string, unknown>): Promise<SessionEvent> {
  return change(stateRoot, id, (folder, meta) => {
    mustBeActive(meta);
    const event = eventOf(meta, type, detail);
    const bytes = Buffer.byteLength(JSON.stringify(event));
    if (bytes > mostEventBytes)
      throw new BoxError('too_large', `The event has ${formatSize(bytes)}; at most ${formatSize(mostEventBytes)} are kept of one.`, {
        hint: 'Keep large things in a file and name it in the event.',
      });
    if (eventBytes(folder) + bytes > mostTimelineBytes)
      throw new BoxError('too_large', `The timeline of session ${id} is full (${formatSize(mostTimelineBytes)}).`, {
        hint: `End it (skillbox session end ${id}) and start a new one: skillbox session start ${meta.client_id}.`,
      });
    appendEvent(folder, event);
    return event;
  });
}

export function beatTimeline(stateRoot: string, id: string): Promise<WorkSession> {
  return change(stateRoot, id, (folder, meta) => {
    mustBeActive(meta);
    const now = new Date();
    utimesSync(join(folder, 'events.jsonl'), now, now);
    return describeSession(folder, meta);
  });
}

export function endTimeline(stateRoot: string, id: string, state: EndState, summary: string | null): Promise<WorkSession> {
  return change(stateRoot, id, (folder, meta) => {
    mustBeActive(meta);
    appendEvent(folder, eventOf(meta, 'session.ended', { state, ...(summary !== null && { summary }) }));
    const events = readEvents(folder);
    const time = events.at(-1)?.ts ?? new Date().toISOString();
    const counted = { events: events.length, bytes: eventBytes(folder) };
    const ended: Meta = { ...meta, state, summary, ended_at: time, updated_at: time, counted };
    // Before the state: who is killed in between finds the session still active, and ends it again.
    writeHandoff(folder, handoff(ended, events));
    writeMeta(folder, ended);
    return describeSession(folder, ended);
  });
}

export function resumeTimeline(stateRoot: string, id: string): Promise<WorkSession> {
  return change(stateRoot, id, (folder, meta) => {
    if (meta.state === 'active')
      throw new BoxError('session_state_conflict', `Session ${id} is active already.`, {
        hint: `Go on with it: skillbox session event ${id} MESSAGE.`,
      });
    const event = eventOf(meta, 'session.resumed', { was: meta.state });
    appendEvent(folder, event);
    const active: Meta = { ...meta, state: 'active', ended_at: null, updated_at: event.ts, resumed: meta.resumed + 1 };
    writeMeta(folder, active);
    return describeSession(folder, active);
  });
}

/** The newest first. */
export function listTimelines(
  stateRoot: string,
  { client, state, limit }: { client?: string | undefined; state?: WorkSession['state'] | undefined; limit: number },
): WorkSession[] {
  const found: WorkSession[] = [];
  for (const folder of sessionFolders(stateRoot, client)) {
    if (found.length >= limit) break;
    const meta = readMeta(folder);
    if (meta && (state === undefined || meta.state === state)) found.push(describeSession(folder, meta));
  }
  return found;
}

export function showTimeline(stateRoot: string, id: string): SessionDetail {
  const [folder, meta] = sessionAt(stateRoot, id);
  return { ...describeSession(folder, meta), timeline: readEvents(folder).slice(-mostShown), handoff: readHandoff(folder) };
}

function sessionAt(stateRoot: string, id: string): [folder: string, meta: Meta] {
  const folder = findFolder(stateRoot, id);
  const meta = folder && readMeta(folder);
  if (meta) return [folder, meta];
  throw new BoxError('session_not_found', `There is no session ${id}.`);
}

/**
 * The kernel frees the lock with the process that holds it. Reading the state and writing the event are one step, so that nothing is
 * added to a session that somebody just ended.
 */
async function change<T>(stateRoot: string, id: string, work: (folder: string, meta: Meta) => T): Promise<T> {
  const [folder] = sessionAt(stateRoot, id);
  const name = `session-${createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 32)}`;
  const since = performance.now();
  for (;;) {
    const lock = await tryLock(name);
    if (lock) {
      try {
        return work(...sessionAt(stateRoot, id));
      } finally {
        lock.release();
      }
    }
    if (performance.now() - since > patienceMs) throw new BoxError('graph_busy', `Others write to session ${id} without a pause.`);
    await sleep(1 + Math.random() * 8);
  }
}

function mustBeActive({ session_id, state }: Meta): void {
  if (state === 'active') return;
  throw new BoxError('session_state_conflict', `Session ${session_id} has ended: it is ${state}.`);
}

const eventOf = ({ client_id, session_id }: Meta, type: string, detail: Record<string, unknown>): SessionEvent => ({
  ...{ ts: new Date().toISOString(), type, client_id, session_id, detail },
});
