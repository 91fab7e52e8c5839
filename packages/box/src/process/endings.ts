/** How processes ended, as far as this process has heard: those it started itself, and those whose end the kernel told a stranger. */

import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessIdentity } from './identity.ts';

export interface Ending {
  /** null: by a signal. */
  readonly code: number | null;
  readonly signal: string | null;
}

const heard = new Map<string, Ending>();
const most = 1000;
const pollMs = 10;

const keyOf = ({ pid, startTime }: ProcessIdentity): string => `${pid} ${startTime}`;

export function rememberEnding(process: ProcessIdentity, ending: Ending): void {
  heard.set(keyOf(process), ending);
  const [eldest] = heard.keys();
  if (heard.size > most && eldest !== undefined) heard.delete(eldest);
}

/** Of one that ended just now; its end is often heard of before how it ended. undefined: that cannot be known. */
export async function endingOf(process: ProcessIdentity, withinMs: number): Promise<Ending | undefined> {
  for (const since = performance.now(); ; await sleep(pollMs)) {
    const ending = heard.get(keyOf(process));
    if (ending || performance.now() - since >= withinMs) return ending;
  }
}

const names = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** From a status as wait(2) gives it. */
export function endingFrom(status: number): Ending {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff, signal: null } : { code: null, signal: names.get(signal) ?? `signal ${signal}` };
}
