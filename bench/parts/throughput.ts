/** Sustained throughput: plain processes, bubblewrap by hand and both boxes, with as many callers each. */

import { type Language, languages } from '@skillbox/protocol';
import type { BenchRun } from '../bench-run.ts';
import { prepareByHand } from '../contenders/by-hand.ts';
import type { Command } from '../contenders/command.ts';
import { preparePlain } from '../contenders/plain.ts';
import { type BenchBox, openBox } from '../contenders/skillbox.ts';
import { median, rounded, seeded } from '../measure/samples.ts';
import { rateOfCallers, rateOfProcesses } from '../measure/sustained.ts';
import { shuffled } from '../measure/turns.ts';
import type { BenchSkill } from '../skill.ts';

export type ThroughputWay = 'plain' | 'byHand' | 'cold' | 'warm';

export interface Rate {
  /** Runs a second: the median of the slices, and the slowest and quickest of them. */
  readonly rate: number;
  readonly slowest: number;
  readonly quickest: number;
}

export interface ThroughputAt extends Readonly<Record<ThroughputWay, Rate>> {
  readonly callers: number;
}

export type Throughput = Readonly<Record<Language, readonly ThroughputAt[]>>;

export interface ThroughputSizes {
  readonly slices: number;
  readonly sliceMs: number;
}

export async function measureThroughput(run: BenchRun): Promise<Throughput> {
  const skills = Object.values(run.skills);
  const boxes = { cold: await openBox('cold', skills), warm: await openBox('warm', skills) };
  const sizes = { slices: 3, sliceMs: run.count(1500, 300) };
  try {
    const results: Partial<Record<Language, readonly ThroughputAt[]>> = {};
    for (const lang of languages) {
      const measured: ThroughputAt[] = [];
      for (const callers of [1, 4, 16, 64]) {
        run.say(`throughput: ${lang}, ${callers} callers`);
        const rates = await measureRates(rateMakers(run.skills[lang], boxes, callers), sizes);
        measured.push({ callers, ...rates } as ThroughputAt);
      }
      results[lang] = measured;
    }
    return results as Throughput;
  } finally {
    await boxes.cold.stop();
    await boxes.warm.stop();
  }
}

/** One way to run, for about so many milliseconds; its rate. */
export interface RateMaker {
  measure(ms: number): Promise<number>;
  close(): void;
}

export function rateMakers<W extends 'cold' | 'warm'>(
  skill: BenchSkill,
  boxes: Record<W, BenchBox>,
  callers: number,
): Record<'plain' | 'byHand' | W, RateMaker> {
  const plain = preparePlain(skill);
  const byHand = prepareByHand(skill);
  const overHttp = Object.entries(boxes).map(([warmth, box]): [string, RateMaker] => {
    const contenders = Array.from({ length: callers }, () => (box as BenchBox).contender(skill));
    return [
      warmth,
      { measure: (ms) => rateOfCallers(contenders, ms), close: () => contenders.forEach((contender) => void contender.close()) },
    ];
  });
  return {
    plain: { measure: processRate(plain.command, callers), close: () => void plain.close() },
    byHand: { measure: processRate(byHand.command, callers), close: () => void byHand.close() },
    ...(Object.fromEntries(overHttp) as Record<W, RateMaker>),
  };
}

/** In slices by turns; before each slice that counts, a fifth of one that does not. */
export async function measureRates<K extends string>(
  makers: Record<K, RateMaker>,
  { slices, sliceMs }: ThroughputSizes,
): Promise<Record<K, Rate>> {
  const names = Object.keys(makers) as K[];
  const rates = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>;
  const random = seeded(slices);
  try {
    for (let slice = 0; slice < slices; slice += 1) {
      for (const name of shuffled(names, random)) {
        await makers[name].measure(sliceMs / 5);
        rates[name].push(await makers[name].measure(sliceMs));
      }
    }
  } finally {
    for (const name of names) makers[name].close();
  }
  const said = names.map((name) => [
    name,
    { rate: rounded(median(rates[name])), slowest: rounded(Math.min(...rates[name])), quickest: rounded(Math.max(...rates[name])) },
  ]);
  return Object.fromEntries(said) as Record<K, Rate>;
}

/** xargs wants to know how many: the last rate says how many fit. */
function processRate(command: Command, callers: number): (ms: number) => Promise<number> {
  let rate = 0;
  return async (ms) => {
    const jobs = rate === 0 ? callers * 2 : Math.max(callers * 2, Math.round((rate * ms) / 1000));
    rate = await rateOfProcesses(command, callers, jobs);
    return rate;
  };
}
