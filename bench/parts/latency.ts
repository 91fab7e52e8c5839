/** One call at a time, every way to run the skill in turns: what a caller waits for. */

import { type Language, languages } from '@skillbox/protocol';
import type { BenchRun } from '../bench-run.ts';
import { prepareByHand } from '../contenders/by-hand.ts';
import type { Contender } from '../contenders/command.ts';
import { preparePlain, startNothing } from '../contenders/plain.ts';
import { type BenchBox, openBox, type Trace } from '../contenders/skillbox.ts';
import { median, type Ratio, ratioOf, rounded, type Summary, summarise } from '../measure/samples.ts';
import { inTurns, type Turn } from '../measure/turns.ts';

export type Way = 'plain' | 'byHand' | 'docker' | 'library' | 'srt' | 'cold' | 'warm' | 'nothing';

export interface LatencyOf {
  readonly ways: Partial<Record<Way, Summary>>;
  /** Of medians, such as `warm/plain`. */
  readonly ratios: Readonly<Record<string, Ratio>>;
  /** Share of the warm box's runs that a sandbox made ready ahead served. */
  readonly servedWarm: number;
  /** Where the time of a run goes, by phase: medians. */
  readonly phases: Readonly<Record<'cold' | 'warm', Readonly<Record<string, number>>>>;
}

export type Latency = Readonly<Record<Language, LatencyOf>>;

export async function measureLatency(run: BenchRun): Promise<Latency> {
  const skills = Object.values(run.skills);
  const boxes = { cold: await openBox('cold', skills), warm: await openBox('warm', skills) };
  try {
    const results: [Language, LatencyOf][] = [];
    for (const lang of languages) {
      run.say(`latency: ${lang}`);
      results.push([lang, await measureLanguage(run, lang, boxes)]);
    }
    return Object.fromEntries(results) as Latency;
  } finally {
    await boxes.cold.stop();
    await boxes.warm.stop();
  }
}

async function measureLanguage(run: BenchRun, lang: Language, boxes: { cold: BenchBox; warm: BenchBox }): Promise<LatencyOf> {
  const skill = run.skills[lang];
  const docker = await run.docker();
  const runtime = await run.sandboxRuntime();
  const overHttp = { cold: boxes.cold.contender(skill), warm: boxes.warm.contender(skill) };
  const contenders: Partial<Record<Way, Contender>> = {
    plain: preparePlain(skill),
    byHand: prepareByHand(skill),
    ...overHttp,
    ...(docker && { docker: docker.contender(skill) }),
    ...(runtime && { library: runtime.library(skill), srt: runtime.command(skill) }),
  };
  const traces: Record<'cold' | 'warm', Trace[]> = { cold: [], warm: [] };
  const turns: Partial<Record<Way, Turn>> = { nothing: { run: startNothing } };
  for (const [name, contender] of Object.entries(contenders) as [Way, Contender][]) {
    turns[name] = slow.includes(name) ? { ...contender, every: 3 } : contender;
  }
  for (const name of ['cold', 'warm'] as const) {
    turns[name] = { ...overHttp[name], check: () => void traces[name].push(overHttp[name].trace()) };
  }
  try {
    // The first run of a skill tells the box that it is wanted.
    await overHttp.warm.run();
    await boxes.warm.settled();
    const samples = await inTurns(turns as Record<Way, Turn>, { rounds: run.count(150, 6) });
    return {
      ways: Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, summarise(values)])),
      ratios: ratiosOf(samples),
      servedWarm: rounded(traces.warm.filter(({ warm }) => warm).length / traces.warm.length),
      phases: { cold: medianPhases(traces.cold), warm: medianPhases(traces.warm) },
    };
  } finally {
    for (const contender of Object.values(contenders)) await contender.close();
  }
}

const slow: readonly Way[] = ['docker', 'library', 'srt'];

function medianPhases(traces: readonly Trace[]): Record<string, number> {
  const names = Object.keys(traces[0]?.phases ?? {});
  return Object.fromEntries(names.map((name) => [name, rounded(median(traces.map(({ phases }) => phases[name] ?? 0)))]));
}

/** Everything against the plain process, and what the targets name besides. */
function ratiosOf(samples: Partial<Record<Way, readonly number[]>>): Record<string, Ratio> {
  const pairs: [Way, Way][] = [
    ...(Object.keys(samples) as Way[]).filter((name) => name !== 'plain').map((name): [Way, Way] => [name, 'plain']),
    ...([
      ['cold', 'byHand'],
      ['docker', 'warm'],
      ['library', 'warm'],
    ] as [Way, Way][]),
  ];
  return Object.fromEntries(
    pairs.flatMap(([above, below]) => {
      const [one, other] = [samples[above], samples[below]];
      return one && other ? [[`${above}/${below}`, ratioOf(one, other)]] : [];
    }),
  );
}
