/** One job every 50 ms, whether or not the last has ended: the tail that steady work sees. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Language, languages } from '@skillbox/protocol';
import type { BenchRun } from '../bench-run.ts';
import type { Contender } from '../contenders/command.ts';
import { preparePlain } from '../contenders/plain.ts';
import { openBox } from '../contenders/skillbox.ts';
import { rounded, type Summary, summarise } from '../measure/samples.ts';

export interface PaceOf {
  readonly plain: Summary;
  readonly warm: Summary;
  /** p99 of warm / p99 of plain. */
  readonly tailRatio: number;
}

export type Pace = Readonly<Record<Language, PaceOf>>;

const everyMs = 50;
const blocks = 8;
/** Jobs that may be under way at once; each needs a connection, or a folder, of its own. */
const lanes = 8;

export async function measurePace(run: BenchRun): Promise<Pace> {
  const box = await openBox('warm', Object.values(run.skills));
  const results: [Language, PaceOf][] = [];
  try {
    for (const lang of languages) {
      run.say(`pace: ${lang}`);
      const skill = run.skills[lang];
      const ways = {
        plain: Array.from({ length: lanes }, () => preparePlain(skill)),
        warm: Array.from({ length: lanes }, () => box.contender(skill)),
      };
      const samples: Record<keyof typeof ways, number[]> = { plain: [], warm: [] };
      // In blocks by turns: the machine's moods hit both, and the box sees a steady caller within a block.
      const jobs = run.count(50, 5);
      for (let block = -1; block < blocks; block += 1) {
        for (const way of ['plain', 'warm'] as const) {
          const taken = await runBlock(ways[way], jobs);
          if (block >= 0) samples[way].push(...taken);
        }
      }
      for (const contender of [...ways.plain, ...ways.warm]) await contender.close();
      const [plain, warm] = [summarise(samples.plain), summarise(samples.warm)];
      results.push([lang, { plain, warm, tailRatio: rounded(warm.p99 / plain.p99) }]);
    }
  } finally {
    await box.stop();
  }
  return Object.fromEntries(results) as Pace;
}

async function runBlock(free: readonly Contender[], jobs: number): Promise<number[]> {
  const idle = [...free];
  const samples: number[] = [];
  const running: Promise<void>[] = [];
  const began = performance.now();
  for (let job = 0; job < jobs; job += 1) {
    await delay(Math.max(0, began + job * everyMs - performance.now()));
    const contender = idle.pop();
    if (!contender) throw new Error(`${free.length} jobs were under way at once: this machine is far too busy to measure`);
    const started = performance.now();
    running.push(
      contender.run().then(() => {
        samples.push(performance.now() - started);
        contender.check();
        idle.push(contender);
      }),
    );
  }
  await Promise.all(running);
  return samples;
}
