/** Tells who listens when the skills of a tenant change, on whichever host that was. One follower of the events serves all. */

import type { Box } from '../../box.ts';

export interface Changes {
  /** Everything after it resolves is told; pushes in quick succession are told once. Returns what ends it. */
  listen(tenant: string, changed: () => void): Promise<() => void>;
  close(): void;
}

const togetherMs = 50;
const againMs = 1000;

export function createChanges({ events, log }: Pick<Box, 'events' | 'log'>): Changes {
  const listeners = new Set<{ readonly tenant: string; tell(): void }>();
  let following: { readonly controller: AbortController; readonly begun: Promise<number> } | undefined;

  const follow = async (afterSeq: number, signal: AbortSignal): Promise<void> => {
    for (let after = afterSeq; !signal.aborted; ) {
      try {
        for await (const event of events.follow({ typePrefix: 'skill.' }, { afterSeq: after }, signal)) {
          after = event.seq;
          if (event.type !== 'skill.pushed' && event.type !== 'skill.deleted') continue;
          for (const listener of listeners) if (listener.tenant === event.tenant) listener.tell();
        }
      } catch (error) {
        log.warn({ err: error }, 'MCP clients are not told of new skills for a moment');
        await new Promise((resolve) => setTimeout(resolve, againMs).unref());
      }
    }
  };
  const begin = (): Promise<number> => {
    if (!following) {
      const controller = new AbortController();
      const begun = events.lastSeq();
      following = { controller, begun };
      begun.then(
        (seq) => void follow(seq, controller.signal),
        // Whoever wanted to listen is told; the next one tries again.
        () => {
          if (following?.controller === controller) following = undefined;
        },
      );
    }
    return following.begun;
  };
  const endIfAlone = (): void => {
    if (listeners.size > 0) return;
    following?.controller.abort();
    following = undefined;
  };

  return {
    async listen(tenant, changed) {
      let timer: NodeJS.Timeout | undefined;
      const listener = {
        tenant,
        tell() {
          timer ??= setTimeout(() => {
            timer = undefined;
            changed();
          }, togetherMs).unref();
        },
      };
      listeners.add(listener);
      const end = (): void => {
        clearTimeout(timer);
        listeners.delete(listener);
        endIfAlone();
      };
      try {
        await begin();
      } catch (error) {
        end();
        throw error;
      }
      return end;
    },
    close() {
      listeners.clear();
      endIfAlone();
    },
  };
}
