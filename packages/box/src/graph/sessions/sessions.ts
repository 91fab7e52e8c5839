/** Sessions as commands see them: for clients that exist, with a line in the history of the box. */

import { join, resolve } from 'node:path';
import type { SessionEvent, WorkSession } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import { clientMissing, findClients } from '../overlay.ts';
import type { Runtime } from '../runtime.ts';
import { recordActivity } from '../runtime-log.ts';
import { clientsWithSessions } from './folder.ts';
import {
  addToTimeline,
  beatTimeline,
  beginTimeline,
  type EndState,
  endTimeline,
  listTimelines,
  resumeTimeline,
  type SessionDetail,
  showTimeline,
} from './timeline.ts';

export async function startSession(
  { config }: Runtime,
  { client_id, label, goal }: { client_id: string; label?: string | undefined; goal?: string | undefined },
): Promise<WorkSession> {
  requireClient(config, client_id);
  const session = beginTimeline(config.stateRoot, { client_id, label: label ?? null, goal: goal ?? null });
  told(config.stateRoot, 'session.started', session);
  return session;
}

export function addSessionEvent(
  { config }: Runtime,
  { id, type, message, detail }: { id: string; type: string; message: string; detail?: Record<string, unknown> | undefined },
): Promise<SessionEvent> {
  return addToTimeline(config.stateRoot, id, type, { ...detail, message });
}

export const beatSession = ({ config }: Runtime, id: string): Promise<WorkSession> => beatTimeline(config.stateRoot, id);

export async function endSession(
  { config }: Runtime,
  { id, state, summary }: { id: string; state: EndState; summary?: string | undefined },
): Promise<WorkSession> {
  const session = await endTimeline(config.stateRoot, id, state, summary ?? null);
  told(config.stateRoot, 'session.ended', session);
  return session;
}

export async function resumeSession({ config }: Runtime, id: string): Promise<WorkSession> {
  const session = await resumeTimeline(config.stateRoot, id);
  told(config.stateRoot, 'session.resumed', session);
  return session;
}

export async function listSessions(
  { config }: Runtime,
  { client_id, ...rest }: { client_id?: string | undefined; state?: WorkSession['state'] | undefined; limit: number },
): Promise<{ items: WorkSession[] }> {
  // What a client that is gone left behind can still be read; a client that never was is an error.
  if (client_id !== undefined && !clientsWithSessions(config.stateRoot).includes(client_id)) requireClient(config, client_id);
  return { items: listTimelines(config.stateRoot, { client: client_id, ...rest }) };
}

export const showSession = async ({ config }: Runtime, id: string): Promise<SessionDetail> => showTimeline(config.stateRoot, id);

/** By its overlay alone: notes can be taken also where the graph is not well. */
function requireClient({ baseDir, clientsHostRoot, stateRoot }: Config, client: string): void {
  const root = clientsHostRoot === undefined ? join(stateRoot, 'clients') : resolve(baseDir, clientsHostRoot);
  const clients = findClients(root);
  if (!clients.includes(client)) throw clientMissing(client, clients, root);
}

const told = (stateRoot: string, type: string, { session_id, client_id, state, label, events }: WorkSession): void =>
  recordActivity(stateRoot, type, `session:${session_id}`, { client: client_id, state, ...(label !== null && { label }), events });
