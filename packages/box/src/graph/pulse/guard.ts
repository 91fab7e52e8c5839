/** The server of the box starts pulse again when it was killed, as pulse does with the server: neither can be lost while the other lives. */

import type { Config } from '../../config.ts';
import type { Logger } from '../../observe/log.ts';
import { readServiceRecords } from '../services/records.ts';
import { startPulse } from './control.ts';
import { livingPulse, readPulseState } from './state.ts';

export interface PulseGuard {
  stop(): void;
}

const lookMs = 5000;
/** One that does not start is not tried at every look. */
const mostMs = 300_000;

export function guardPulse({ config, log, everyMs = lookMs }: { config: Config; log: Logger; everyMs?: number }): PulseGuard {
  const ending = new AbortController();
  let pauseMs = everyMs;
  let timer: NodeJS.Timeout;

  const look = async (): Promise<void> => {
    const state = readPulseState(config.stateRoot);
    const missing = !state.stopped && !livingPulse(state) && readServiceRecords(config.stateRoot).some(({ wanted }) => wanted);
    if (missing) {
      const { pid } = await startPulse({ config, signal: ending.signal });
      log.warn({ pid }, 'pulse was gone while services are wanted; it was started again');
    }
    pauseMs = everyMs;
  };
  const again = (): void => {
    timer = setTimeout(() => {
      void look()
        .catch((error: Error) => {
          if (ending.signal.aborted) return;
          pauseMs = Math.min(pauseMs * 2, mostMs);
          log.error({ err: error, retry_ms: pauseMs }, 'pulse is gone and could not be started');
        })
        .finally(() => {
          if (!ending.signal.aborted) again();
        });
    }, pauseMs);
    timer.unref();
  };
  again();
  return {
    stop() {
      ending.abort();
      clearTimeout(timer);
    },
  };
}
