/** How executions did of late: how many, how they ended, where their time went. Bounded in what it reads, however much ran. */

import { type ExecutionFigures, type ExecutionTimings, executionPhases, type executionWindows } from '@skillbox/protocol';
import { sql } from 'kysely';
import type { Database } from '../store/database.ts';
import { sumOf } from './stopwatch.ts';

export interface FigureFilter {
  readonly tenant: string;
  readonly skill?: string;
  readonly window: (typeof executionWindows)[number];
}

export interface Figures {
  read(filter: FigureFilter): Promise<ExecutionFigures>;
}

/** `digits`: how much of a time as text is the beginning of its step. */
const windows: Record<FigureFilter['window'], { readonly ms: number; readonly stepSeconds: number; readonly digits: number }> = {
  '15m': { ms: 900_000, stepSeconds: 10, digits: 18 },
  '1h': { ms: 3600_000, stepSeconds: 60, digits: 16 },
  '6h': { ms: 21_600_000, stepSeconds: 600, digits: 15 },
  '24h': { ms: 86_400_000, stepSeconds: 600, digits: 15 },
};
const mostCounted = 50_000;
const mostSampled = 2000;
const mostSkills = 50;
/** Several people look at the same figures; counting them once is enough. */
const keptMs = 2000;

interface Sample {
  readonly skill_name: string;
  readonly status: string;
  readonly created_at: string;
  readonly timings: string | null;
  readonly warm: number | null;
  readonly error: string | null;
}

export function createFigures({ kysely }: Database): Figures {
  const kept = new Map<string, { readonly at: number; readonly figures: Promise<ExecutionFigures> }>();

  const within = (filter: FigureFilter, since: string) => {
    let query = kysely.selectFrom('executions').where('tenant', '=', filter.tenant).where('created_at', '>=', since);
    if (filter.skill !== undefined) query = query.where('skill_name', '=', filter.skill);
    return query.orderBy('created_at', 'desc').orderBy('id', 'desc');
  };

  const count = async (filter: FigureFilter, since: string): Promise<Counted[]> => {
    const { digits } = windows[filter.window];
    const step = sql<string>`substr(created_at, 1, ${sql.lit(digits)})`;
    return kysely
      .selectFrom(within(filter, since).select(['created_at', 'status']).limit(mostCounted).as('newest'))
      .select(({ fn }) => [step.as('step'), 'status', fn.countAll<number>().as('count'), fn.min('created_at').as('first_at')])
      .groupBy([step, 'status'])
      .execute();
  };

  const now = async ({ tenant, skill }: FigureFilter, status: 'running' | 'queued'): Promise<number> => {
    let query = kysely.selectFrom('executions').where('tenant', '=', tenant).where('status', '=', status);
    if (skill !== undefined) query = query.where('skill_name', '=', skill);
    const { total } = await query.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
    return Number(total);
  };

  const make = async (filter: FigureFilter): Promise<ExecutionFigures> => {
    const until = Date.now();
    const { ms, stepSeconds } = windows[filter.window];
    const since = new Date(until - ms).toISOString();
    const counted = await count(filter, since);
    const samples: Sample[] = await within(filter, since)
      .select(['skill_name', 'status', 'created_at', 'timings', 'warm', 'error'])
      .limit(mostSampled)
      .execute();
    const all = counted.reduce((sum, row) => sum + Number(row.count), 0);
    const complete = all < mostCounted;
    const [first = new Date(until).toISOString()] = counted.map((row) => row.first_at).sort();
    return {
      ...{ since: complete ? since : first, until: new Date(until).toISOString(), step_seconds: stepSeconds, complete },
      ...{ running: await now(filter, 'running'), queued: await now(filter, 'queued') },
      points: pointsOf(counted),
      sampled: samples.length,
      ...timesOf(samples),
      errors: errorsOf(samples),
      skills: skillsOf(samples),
    };
  };

  return {
    read(filter) {
      const key = JSON.stringify([filter.tenant, filter.skill, filter.window]);
      const known = kept.get(key);
      if (known && Date.now() - known.at < keptMs) return known.figures;
      if (kept.size > 1000) kept.clear();
      const figures = make(filter);
      kept.set(key, { at: Date.now(), figures });
      // Who waits for it is told; the next one tries anew.
      figures.catch(() => kept.delete(key));
      return figures;
    },
  };
}

interface Counted {
  readonly step: string;
  readonly status: string;
  readonly count: number | string;
  readonly first_at: string;
}

function pointsOf(counted: readonly Counted[]): ExecutionFigures['points'] {
  const points = new Map<string, ExecutionFigures['points'][number]>();
  for (const { step, status, count } of counted) {
    // What a step's text lacks of a time are noughts.
    const point = points.get(step) ?? { time: step + '0000-00-00T00:00:00.000Z'.slice(step.length), success: 0, failed: 0, other: 0 };
    const kind = status === 'success' ? 'success' : status === 'failed' || status === 'timeout' ? 'failed' : 'other';
    points.set(step, { ...point, [kind]: point[kind] + Number(count) });
  }
  return [...points.values()].sort((one, other) => (one.time < other.time ? -1 : 1));
}

function timesOf(samples: readonly Sample[]): Pick<ExecutionFigures, 'total' | 'phases' | 'warm'> {
  const timings = samples.flatMap((sample) => timingsOf(sample) ?? []);
  const served = samples.filter(({ warm }) => warm !== null);
  return {
    total: spreadOf(timings.map(sumOf)),
    phases: executionPhases.flatMap((phase) => {
      const spread = spreadOf(timings.flatMap((each) => each[phase] ?? []));
      return spread ? [{ phase, ...spread }] : [];
    }),
    warm: served.length > 0 ? served.filter(({ warm }) => warm === 1).length / served.length : null,
  };
}

function errorsOf(samples: readonly Sample[]): ExecutionFigures['errors'] {
  const counts = new Map<string, number>();
  for (const { error } of samples) {
    if (error === null) continue;
    const { code } = JSON.parse(error) as { code: string };
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts].map(([code, count]) => ({ code, count })).sort((one, other) => other.count - one.count);
}

function skillsOf(samples: readonly Sample[]): ExecutionFigures['skills'] {
  const bySkill = new Map<string, Sample[]>();
  for (const sample of samples) bySkill.set(sample.skill_name, [...(bySkill.get(sample.skill_name) ?? []), sample]);
  return [...bySkill]
    .map(([skill, own]) => ({
      ...{ skill, runs: own.length, failed: own.filter(({ status }) => status === 'failed' || status === 'timeout').length },
      total: spreadOf(own.flatMap((sample) => timingsOf(sample) ?? []).map(sumOf)),
      last_at: own[0]?.created_at ?? '',
    }))
    .sort((one, other) => other.runs - one.runs)
    .slice(0, mostSkills);
}

const timingsOf = ({ timings }: Sample): ExecutionTimings | undefined =>
  timings === null ? undefined : (JSON.parse(timings) as ExecutionTimings);

/** Nearest rank. */
function spreadOf(values: readonly number[]): { p50: number; p95: number } | null {
  const sorted = values.toSorted((one, other) => one - other);
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return sorted.length === 0 ? null : { p50: rank(0.5), p95: rank(0.95) };
}
