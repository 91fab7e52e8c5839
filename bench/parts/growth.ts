/** What becomes slower when there is much of something: a small box and three large ones side by side, asked in turns. */

import { setTimeout as delay } from 'node:timers/promises';
import { postgresFolder, startPostgres } from '../../tests/support/postgres.ts';
import type { BenchRun } from '../bench-run.ts';
import type { Contender } from '../contenders/command.ts';
import { type BenchBox, openBox } from '../contenders/skillbox.ts';
import { createCaller, requestBytes } from '../measure/http-caller.ts';
import { type Ratio, ratioOf, type Summary, summarise } from '../measure/samples.ts';
import { inTurns, type Turn } from '../measure/turns.ts';
import type { BenchSkill } from '../skill.ts';
import { type Filled, fillRecords } from './growth-fill.ts';
import { type GrownWorld, type World, worlds } from './worlds.ts';

export interface GrowthOf {
  readonly times: Readonly<Record<World, Summary>>;
  /** Against the small box. */
  readonly ratios: Readonly<Record<GrownWorld, Ratio>>;
}

/** By request, such as `executions list`. */
export type GrowthRows = Readonly<Record<string, GrowthOf>>;

export interface Growth {
  /** How much of each: in the small box, and in the large one. */
  readonly sizes: Readonly<Record<GrownWorld, readonly [number, number]>>;
  readonly sqlite: GrowthRows;
  readonly postgres?: GrowthRows;
}

export async function measureGrowth(run: BenchRun): Promise<Growth> {
  const sizes: Growth['sizes'] = {
    skills: [10, run.count(1000, 20)],
    records: [1000, run.count(1_000_000, 2000)],
    sandboxes: [1, run.count(500, 3)],
  };
  const sqlite = await measureDatabase(run, sizes, 'sqlite', async () => undefined);
  const programs = postgresFolder();
  if (!programs) return { sizes, sqlite };
  // As it is installed, not as tests have it: what it commits is on disk.
  const engine = await startPostgres(programs, { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB', max_wal_size: '4GB' });
  try {
    return { sizes, sqlite, postgres: await measureDatabase(run, sizes, 'postgres', () => engine.createDatabase()) };
  } finally {
    await engine.stop();
  }
}

async function measureDatabase(
  run: BenchRun,
  sizes: Growth['sizes'],
  kind: string,
  createDatabase: () => Promise<string | undefined>,
): Promise<GrowthRows> {
  const sites: [World, Site][] = [];
  try {
    for (const world of worlds) {
      run.say(`growth on ${kind}: ${world === 'small' ? 'a small box' : `${sizes[world][1]} ${world}`}`);
      const amount = (what: GrownWorld): number => sizes[what][world === what ? 1 : 0];
      sites.push([world, await openSite(run.skills.python, await createDatabase(), amount)]);
    }
    await delay(2000);
    const rows: [string, GrowthOf][] = [];
    for (const name of Object.keys(sites[0]?.[1].requests ?? {})) {
      run.say(`growth on ${kind}: ${name}`);
      const turns = Object.fromEntries(sites.map(([world, { requests }]) => [world, requests[name] as Turn])) as Record<World, Turn>;
      const samples = await inTurns(turns, roundsOf(name, run));
      const grown = worlds.filter((world) => world !== 'small').map((world) => [world, ratioOf(samples[world], samples.small)]);
      const times = Object.fromEntries(worlds.map((world) => [world, summarise(samples[world])]));
      rows.push([name, { times, ratios: Object.fromEntries(grown) } as GrowthOf]);
    }
    return Object.fromEntries(rows);
  } finally {
    for (const [, site] of sites) await site.close();
  }
}

/** What starts processes is measured less often, with time to settle after it. */
const roundsOf = (name: string, run: BenchRun) =>
  /^(run|sandbox create)/.test(name) ? { rounds: run.count(40, 4) } : { rounds: run.count(100, 4), pauseMs: 3 };

interface Site {
  readonly requests: Readonly<Record<string, Turn>>;
  close(): Promise<void>;
}

async function openSite(skill: BenchSkill, dsn: string | undefined, amount: (what: GrownWorld) => number): Promise<Site> {
  const box = await openBox('warm', [skill], { ...(dsn && { SKILLBOX_DB_DSN: dsn }) });
  const { server } = box;
  try {
    const names = Array.from({ length: amount('skills') - 1 }, (_, index) => `filler-${index}`);
    await inParallel(names, async (name) => {
      const head = skill.files['SKILL.md']?.replaceAll(skill.name, name) ?? '';
      const { status, body } = await server.push({ ...skill.files, 'SKILL.md': head });
      if (status !== 201) throw new Error(JSON.stringify(body));
    });
    const sandboxes: string[] = [];
    await inParallel([...Array(amount('sandboxes')).keys()], async () => {
      const { status, body } = await server.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base', ttl: '1h' } });
      if (status !== 201) throw new Error(JSON.stringify(body));
      sandboxes.push(body.id);
    });
    const model = await server.run(skill.name, { input: { numbers: [1, 2, 3] } });
    const where = { stateRoot: server.stateRoot, ...(dsn && { dsn }) };
    const filled = await fillRecords(where, model.execution_id, amount('records'), [skill.name, ...names].slice(0, 10));
    return siteOf(box, skill, filled, sandboxes);
  } catch (error) {
    await box.stop();
    throw error;
  }
}

function siteOf(box: BenchBox, skill: BenchSkill, { ids, cursor }: Filled, sandboxes: readonly string[]): Site {
  const { server } = box;
  const caller = createCaller(server);
  const send = async (method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await caller.send(requestBytes(server, method, path, body));
    const text = answer.body.toString('utf8');
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return text;
  };
  /** Another one of them each time, where there are several. */
  const get = (...paths: string[]): Turn => {
    let next = 0;
    return {
      run: () => {
        next += 1;
        return send('GET', paths[next % paths.length] ?? '');
      },
    };
  };
  const contenders: Contender[] = [box.contender(skill), box.contender(skill, { PYTHONHASHSEED: '1' })];
  const [warm, cold] = contenders as [Contender, Contender];
  const made: string[] = [];
  return {
    requests: {
      'run, warm': warm,
      'run, cold': cold,
      'sandbox create': {
        run: async () => void made.push(JSON.parse(await send('POST', '/v1/sandboxes', { template: 'base', ttl: '1h' })).id),
        check: async () => {
          for (const id of made.splice(0)) await send('DELETE', `/v1/sandboxes/${id}`);
        },
      },
      'executions list': get('/v1/executions?limit=50'),
      'executions list, one skill': get(`/v1/executions?limit=50&skill=${skill.name}`),
      'executions list, failed': get('/v1/executions?limit=50&status=failed'),
      'executions list, halfway down': get(`/v1/executions?limit=50&cursor=${cursor}`),
      'execution get': get(...ids.map((id) => `/v1/executions/${id}`)),
      'execution logs': get(...ids.map((id) => `/v1/executions/${id}/logs`)),
      'events list': get('/v1/events?limit=50'),
      'events list, one execution': get(...ids.map((id) => `/v1/events?subject=execution:${id}`)),
      'skills list': get('/v1/skills?limit=50'),
      'skills search': get('/v1/skills/search?q=numbers&limit=50'),
      'skill get': get(`/v1/skills/${skill.name}/latest`),
      'sandboxes list': get('/v1/sandboxes?limit=50&state=ready'),
      'sandbox get': get(...sandboxes.map((id) => `/v1/sandboxes/${id}`)),
    },
    async close() {
      caller.close();
      for (const contender of contenders) await contender.close();
      await box.stop();
    },
  };
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = [...items];
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}
