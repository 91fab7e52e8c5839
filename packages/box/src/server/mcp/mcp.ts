/** What MCP keeps in memory on this host: sessions of older clients, and who listens for changes. */

import { setMaxListeners } from 'node:events';
import { BoxError } from '@skillbox/protocol';
import type { Caller } from '../../access/caller.ts';
import type { Box } from '../../box.ts';
import { type Changes, createChanges } from './changes.ts';
import { createSessions, type SessionLimits, type Sessions } from './sessions.ts';

export interface Mcp {
  readonly sessions: Sessions;
  readonly changes: Changes;
  /** Counts one that listens; throws rate_limited beyond the limits. Returns what ends it. */
  takeEar(caller: Caller): () => void;
  /** Aborts when nobody should listen any more: the server stops. */
  readonly stopping: AbortSignal;
  /** Streams that wait for changes end; calls go on. */
  stopListening(): void;
  close(): void;
}

export const sessionLimits: SessionLimits = { all: 2000, perOwner: 100, idleMs: 30 * 60_000 };

export function createMcp(box: Box, limits: SessionLimits = sessionLimits): Mcp {
  const stopping = new AbortController();
  // Everybody who listens waits for it, which is no leak.
  setMaxListeners(0, stopping.signal);
  const sessions = createSessions(limits);
  const changes = createChanges(box);
  const ears = new Map<string, number>();
  let listening = 0;
  return {
    ...{ sessions, changes, stopping: stopping.signal },
    takeEar({ actor }) {
      const own = ears.get(actor.id) ?? 0;
      if (own >= limits.perOwner || listening >= limits.all)
        throw new BoxError('rate_limited', `${own} streams of this key listen already.`, { retryAfter: 5 });
      ears.set(actor.id, own + 1);
      listening += 1;
      return () => {
        listening -= 1;
        const left = (ears.get(actor.id) ?? 1) - 1;
        if (left > 0) ears.set(actor.id, left);
        else ears.delete(actor.id);
      };
    },
    stopListening() {
      stopping.abort();
      changes.close();
    },
    close: () => sessions.closeAll(),
  };
}
