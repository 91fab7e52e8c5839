/**
 * The door. Requests that come in one turn of the event loop are let in one for each turn, callers in turn, and what the processor is
 * needed for in between (probes, runs that end, answers) comes in between. Without it a turn would last as long as all requests that
 * have arrived, and everybody would wait for that. Who finds nobody waiting passes at once.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { BoxError } from '@skillbox/protocol';

export interface TurnstileLimits {
  /** Requests of one caller that may wait at the door, and of all. */
  readonly perCaller: number;
  readonly all: number;
}

export interface Turnstile {
  /** To be called for each new connection. */
  connected(): void;
  /** Exactly one of the two is called, unless the caller goes away before its turn. */
  pass(request: IncomingMessage, response: ServerResponse, admit: () => void, refuse: (error: BoxError) => void): void;
  readonly waiting: number;
}

interface Entry {
  readonly response: ServerResponse;
  readonly admit: () => void;
}

const probes = new Set(['/livez', '/health', '/ready', '/metrics']);
/** Probes do not wait; a flood of them does. */
const probesPerTurn = 8;
/** Callers whose key was good not long ago. All others share one place in the line: a flood with invented keys is one caller. */
const mostKnown = 10_000;
const strangers = '';
/** libuv accepts one connection in each turn: while they keep coming, so many turns go by with nothing else to do for each that lets in. */
const mostEmptyTurns = 50;

export function createTurnstile(limits: TurnstileLimits): Turnstile {
  const known = new Set<string>();
  /** Insertion order is the turn: a caller that was let in goes to the end. */
  const lines = new Map<string, Entry[]>();
  let waiting = 0;
  let admitted = 0;
  let probed = 0;
  let turning = false;
  let connecting = false;
  let emptyTurns = 0;

  const takeNext = (): Entry | undefined => {
    for (const [caller, line] of lines) {
      lines.delete(caller);
      const entry = line.shift();
      if (line.length > 0) lines.set(caller, line);
      if (!entry) continue;
      waiting -= 1;
      // Gone while it waited: nobody would read the answer.
      if (!entry.response.destroyed) return entry;
    }
    return undefined;
  };

  const nextTurn = (): void => {
    probed = 0;
    if (connecting && emptyTurns < mostEmptyTurns) {
      connecting = false;
      emptyTurns += 1;
      setImmediate(nextTurn);
      return;
    }
    emptyTurns = 0;
    turning = false;
    admitted = 0;
    const entry = takeNext();
    if (entry) letIn(entry);
  };

  const turn = (): void => {
    if (turning) return;
    turning = true;
    setImmediate(nextTurn);
  };

  const letIn = (entry: Entry): void => {
    admitted += 1;
    turn();
    entry.admit();
  };

  const remember = (caller: string, response: ServerResponse): void => {
    response.once('finish', () => {
      if (response.statusCode === 401) known.delete(caller);
      if (response.statusCode >= 300 || known.has(caller)) return;
      if (known.size >= mostKnown) known.clear();
      known.add(caller);
    });
  };

  return {
    get waiting() {
      return waiting;
    },
    connected() {
      connecting = true;
      turn();
    },
    pass(request, response, admit, refuse) {
      if (probes.has(request.url ?? '') && probed < probesPerTurn) {
        probed += 1;
        turn();
        admit();
        return;
      }
      const name = callerOf(request);
      // What needs no key would make any key look good.
      if (name !== strangers && /^\/(v1|e2b)\//.test(request.url ?? '')) remember(name, response);
      const caller = known.has(name) ? name : strangers;
      const entry: Entry = { response, admit };
      if (admitted === 0 && waiting === 0) {
        letIn(entry);
        return;
      }
      const line = lines.get(caller);
      if (line && line.length >= limits.perCaller) {
        refuse(new BoxError('rate_limited', `${line.length} requests of this caller wait to be read already.`, { retryAfter: 1 }));
        return;
      }
      if (line && waiting >= limits.all) {
        refuse(new BoxError('overloaded', `${waiting} requests wait to be read already.`, { retryAfter: 1 }));
        return;
      }
      if (line) line.push(entry);
      else lines.set(caller, [entry]);
      waiting += 1;
      turn();
    },
  };
}

/** The key as it was sent, good or not, and for whom; nothing for who sends none. */
export function callerOf({ headers }: IncomingMessage): string {
  const key = headers.authorization ?? headers['x-api-key'] ?? headers['x-access-token'];
  if (key === undefined) return strangers;
  const tenant = headers['x-tenant-id'];
  return tenant === undefined ? String(key) : `${String(key)} ${String(tenant)}`;
}
