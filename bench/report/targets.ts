/** What was aimed for, as ratios of one run, and what was reached. */

import type { Language } from '@skillbox/protocol';
import type { Ratio } from '../measure/samples.ts';
import type { GrowthRows } from '../parts/growth.ts';
import type { ThroughputAt } from '../parts/throughput.ts';
import { short, table, times, withInterval } from './figures.ts';
import type { Results } from './results.ts';

export interface Target {
  readonly what: string;
  /** `most`: not above it; `least`: not below. */
  readonly bound: 'most' | 'least';
  readonly target: number;
  readonly moonshot: number;
  /** undefined until it is measured. */
  readonly reached: number | undefined;
  /** As it is written: with its interval, or which of several it is. */
  readonly said: string;
}

export type Verdict = 'not measured' | 'not met' | 'met' | 'met, and the moonshot';

export function verdictOf({ bound, target, moonshot, reached }: Target): Verdict {
  if (reached === undefined) return 'not measured';
  const within = (limit: number): boolean => (bound === 'most' ? reached <= limit : reached >= limit);
  if (within(moonshot)) return 'met, and the moonshot';
  return within(target) ? 'met' : 'not met';
}

const names: Record<Language, string> = { python: 'Python', node: 'Node', bash: 'Bash' };

export function targetsOf({ growth, latency, pace, sandboxes, throughput }: Results): Target[] {
  const ratio = (lang: Language, pair: string): Pick<Target, 'reached' | 'said'> => ofRatio(latency?.data[lang].ratios[pair]);
  const most = (target: number, moonshot: number) => ({ bound: 'most', target, moonshot }) as const;
  const least = (target: number, moonshot: number) => ({ bound: 'least', target, moonshot }) as const;
  const each = <T>(make: (lang: Language, name: string) => T): T[] =>
    (Object.entries(names) as [Language, string][]).map(([lang, name]) => make(lang, name));
  return [
    { what: 'warm Python over HTTP, p50 / plain `python3`', ...most(0.2, 0.08), ...ratio('python', 'warm/plain') },
    { what: 'warm Node over HTTP, p50 / plain `node`', ...most(0.1, 0.04), ...ratio('node', 'warm/plain') },
    ...each((lang, name) => ({
      what: `warm p99 / plain p99, one job every 50 ms: ${name}`,
      ...most(0.5, 0.2),
      ...ofNumber(pace?.data[lang].tailRatio),
    })),
    ...each((lang, name) => ({
      what: `cold over HTTP, p50 / bubblewrap by hand: ${name}`,
      ...most(1.5, 1.2),
      ...ratio(lang, 'cold/byHand'),
    })),
    { what: 'sustained throughput / plain processes: Python', ...least(1.5, 3), ...lowestRate(throughput?.data.python) },
    { what: 'sustained throughput / plain processes: Node', ...least(0.7, 1), ...lowestRate(throughput?.data.node) },
    { what: 'sustained throughput / plain processes: Bash', ...least(0.4, 0.7), ...lowestRate(throughput?.data.bash) },
    { what: '`docker run` / warm, Python', ...least(50, 150), ...ratio('python', 'docker/warm') },
    {
      what: 'E2B SDK create + first command, in sequence, p50 / `docker run`',
      ...most(0.2, 0.05),
      ...ofRatio(sandboxes?.data.sequenceRatio),
    },
    { what: 'any list or get, 1,000,000 records / 1,000', ...most(2, 1.2), ...slowestList(growth?.data) },
  ];
}

export function targetTable(results: Results): string {
  const rows = targetsOf(results).map((target) => {
    const sign = target.bound === 'most' ? '≤' : '≥';
    return [target.what, `${sign} ${short(target.target)}`, short(target.moonshot), target.said, verdictOf(target)];
  });
  return table(['what', 'target', 'moonshot', 'reached', ''], rows);
}

const ofRatio = (ratio: Ratio | undefined): Pick<Target, 'reached' | 'said'> => ({
  reached: ratio?.value,
  said: ratio ? withInterval(ratio) : '–',
});

const ofNumber = (reached: number | undefined): Pick<Target, 'reached' | 'said'> => ({
  reached,
  said: reached === undefined ? '–' : times(reached),
});

/** Of the numbers of callers that were tried, the one where it does worst. */
function lowestRate(measured: readonly ThroughputAt[] | undefined): Pick<Target, 'reached' | 'said'> {
  if (!measured) return ofNumber(undefined);
  const ratios = measured.map(({ callers, plain, warm }) => ({ callers, ratio: warm.rate / plain.rate }));
  const lowest = ratios.reduce((least, one) => (one.ratio < least.ratio ? one : least));
  return {
    reached: lowest.ratio,
    said: `${times(lowest.ratio)} with ${lowest.callers}; ${ratios.map(({ ratio }) => short(ratio)).join(', ')}`,
  };
}

function slowestList(growth: { sqlite: GrowthRows; postgres?: GrowthRows } | undefined): Pick<Target, 'reached' | 'said'> {
  if (!growth) return ofNumber(undefined);
  const all = Object.entries({ SQLite: growth.sqlite, PostgreSQL: growth.postgres ?? {} }).flatMap(([database, rows]) =>
    readsOf(rows).map(([name, { ratios }]) => ({ name: `${name}, ${database}`, ratio: ratios.records })),
  );
  const slowest = all.reduce((most, one) => (one.ratio.value > most.ratio.value ? one : most));
  return { reached: slowest.ratio.value, said: `${withInterval(slowest.ratio)}: ${slowest.name}` };
}

/** The lists and gets of the rows. */
export const readsOf = (rows: GrowthRows): [string, GrowthRows[string]][] =>
  Object.entries(rows).filter(([name]) => !/^(run|sandbox create)/.test(name));
