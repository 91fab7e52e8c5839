/**
 * The door. Requests that come in one turn of the event loop are let in one for each turn, callers in turn, and what the processor is
 * needed for in between (probes, runs that end, answers) comes in between. Without it a turn would last as long as all requests that
 * have arrived, and everybody would wait for that. Who finds nobody waiting passes at once.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { BoxError } from '@skillbox/protocol';
import { insiderOf } from './insiders.ts';

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
  readonly caller: string;
  readonly response: ServerResponse;
  readonly admit: () => void;
}

const probes = new Set(['/livez', '/health', '/ready', '/metrics']);
/** Probes do not wait; a flood of them does. */
const probesPerTurn = 8;
/** Callers whose key was good not long ago. All others share one place in the line: a flood with invented keys is one caller. */
const mostKnown = 10_000;
const strangers = '';
/** Who was not let in for so long does not wait behind those who always are. */
const seldomMs = 20;
const seldomPerTurn = 4;
/** With others there, who waits in line gets one part of the time, and everything else so many. */
const restParts = 2;
const longestRestMs = 50;
const othersMs = 1000;
/** libuv accepts one connection in each turn: while they keep coming, turns go by that let in nobody, for so long. */
const acceptMs = 5;

export function createTurnstile(limits: TurnstileLimits, clock: () => number = () => performance.now()): Turnstile {
  const known = new Set<string>();
  const lines = new Map<string, Entry[]>();
  /** When each was let in last; who has not been for a while is forgotten, and comes first like anybody new. */
  const lastIn = new Map<string, number>();
  let waiting = 0;
  let admitted = 0;
  let probed = 0;
  let seldom = 0;
  let restUntil = 0;
  let turning = false;
  let connecting = false;
  let admittedAt = 0;

  /** The caller that was let in longest ago: one that asks now and then never waits for more than one of those that always do. */
  const nextCaller = (): string | undefined => {
    let found: string | undefined;
    let oldest = Number.POSITIVE_INFINITY;
    for (const caller of lines.keys()) {
      const at = lastIn.get(caller) ?? 0;
      if (at >= oldest) continue;
      found = caller;
      oldest = at;
    }
    return found;
  };

  const takeNext = (): Entry | undefined => {
    for (let caller = nextCaller(); caller !== undefined; caller = nextCaller()) {
      const line = lines.get(caller) ?? [];
      const entry = line.shift();
      if (line.length === 0) lines.delete(caller);
      if (!entry) continue;
      waiting -= 1;
      // Gone while it waited: nobody would read the answer.
      if (!entry.response.destroyed) return entry;
    }
    return undefined;
  };

  const nextTurn = (): void => {
    probed = 0;
    seldom = 0;
    if (connecting && clock() - admittedAt < acceptMs) {
      connecting = false;
      setImmediate(nextTurn);
      return;
    }
    const now = clock();
    if (waiting > 0 && now < restUntil) {
      setTimeout(nextTurn, restUntil - now);
      return;
    }
    turning = false;
    admitted = 0;
    const entry = takeNext();
    if (!entry) return;
    letIn(entry);
    setImmediate(() => {
      const took = clock() - now;
      restUntil = hasOthers(entry.caller, now) ? now + took + Math.min(longestRestMs, took * restParts) : 0;
    });
  };

  const hasOthers = (caller: string, now: number): boolean => {
    for (const [other, at] of lastIn) if (other !== caller && now - at < othersMs) return true;
    return false;
  };

  const turn = (): void => {
    if (turning) return;
    turning = true;
    setImmediate(nextTurn);
  };

  const letIn = (entry: Entry): void => {
    admitted += 1;
    admittedAt = clock();
    lastIn.set(entry.caller, admittedAt);
    if (lastIn.size > mostKnown) lastIn.clear();
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
      if (name !== strangers && /^\/(v1\/|e2b\/|mcp(\?|$))/.test(request.url ?? '')) remember(name, response);
      const caller = known.has(name) ? name : strangers;
      const entry: Entry = { caller, response, admit };
      if (admitted === 0 && waiting === 0) {
        letIn(entry);
        return;
      }
      if (caller !== strangers && seldom < seldomPerTurn && clock() - (lastIn.get(caller) ?? 0) > seldomMs) {
        seldom += 1;
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

/** The key as it was sent, good or not, and for whom; nothing for who sends none. A sandbox for what came through its channel. */
export function callerOf(request: IncomingMessage): string {
  const { headers } = request;
  const inside = insiderOf(request)?.inside;
  // No header has a NUL in it: nobody else can have this name.
  if (inside !== undefined) return `inside\0${inside}`;
  const key = headers.authorization ?? headers['x-api-key'] ?? headers['x-access-token'];
  if (key === undefined) return strangers;
  const tenant = headers['x-tenant-id'];
  return tenant === undefined ? String(key) : `${String(key)} ${String(tenant)}`;
}
