import type { SessionEvent, WorkSession } from '@skillbox/protocol';
import type { Runtime } from '../runtime.ts';

export interface SessionDetail extends WorkSession {
  timeline: SessionEvent[];
  handoff: string | null;
}

export async function startSession(
  _runtime: Runtime,
  _input: { client_id: string; label?: string | undefined; goal?: string | undefined },
): Promise<WorkSession> {
  throw new Error('being written');
}

export async function addSessionEvent(
  _runtime: Runtime,
  _input: { id: string; type: string; message: string; detail?: Record<string, unknown> | undefined },
): Promise<SessionEvent> {
  throw new Error('being written');
}

export async function beatSession(_runtime: Runtime, _id: string): Promise<WorkSession> {
  throw new Error('being written');
}

export async function endSession(
  _runtime: Runtime,
  _input: { id: string; state: 'completed' | 'failed' | 'abandoned'; summary?: string | undefined },
): Promise<WorkSession> {
  throw new Error('being written');
}

export async function resumeSession(_runtime: Runtime, _id: string): Promise<WorkSession> {
  throw new Error('being written');
}

export async function listSessions(
  _runtime: Runtime,
  _input: { client_id?: string | undefined; state?: WorkSession['state'] | undefined; limit: number },
): Promise<{ items: WorkSession[] }> {
  throw new Error('being written');
}

export async function showSession(_runtime: Runtime, _id: string): Promise<SessionDetail> {
  throw new Error('being written');
}
