/** Pulse tells agents what changed: a little after it happened, and not more often than anybody reads it. */

import { existsSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import { focusFile } from '../focus/record.ts';
import { lookAgain, putLive } from '../focus/refresh.ts';
import { exclusively, type Runtime } from '../runtime.ts';

export interface ContextKeeper {
  /** Something happened. */
  happened(): void;
  stop(): Promise<void>;
}

/** What falls is usually up again by then: one look for both. */
const gatherMs = 1500;
const restMs = 5000;
const lockMs = 500;

export function createContextKeeper(runtime: () => Runtime, say: (text: string) => void): ContextKeeper {
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  const later = (ms: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      working = work().finally(() => {
        working = undefined;
        if (again && !stopped) later(restMs);
        again = false;
      });
    }, ms);
  };
  const work = async (): Promise<void> => {
    try {
      const fresh = await lookAgain(runtime());
      if (fresh) await exclusively(runtime(), 'pulse', async () => putLive(runtime(), fresh), lockMs);
    } catch (error) {
      if (stopped) return;
      // Whoever has the lock may write it too; if not, it is written then.
      again ||= error instanceof BoxError && error.code === 'graph_busy';
      if (!again) say(`what agents are told was not refreshed: ${(error as Error).message}`);
    }
  };
  return {
    happened() {
      if (stopped || !existsSync(focusFile(runtime().config.stateRoot))) return;
      if (working) again = true;
      else later(gatherMs);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await working;
    },
  };
}
