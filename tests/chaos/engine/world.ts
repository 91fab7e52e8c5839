/** The boxes that faults strike: one server alone on a small disk of its own, or two on one PostgreSQL and one S3. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { groupParents, sandboxGroups, uptime } from '../../support/leftovers.ts';
import { postgresFolder, startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { startS3, type TestS3 } from '../../support/s3.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../../support/server-process.ts';
import { langs, skillOf } from './book.ts';
import type { Target } from './load.ts';
import { kill, pidsOf } from './processes.ts';

export type WorldKind = 'alone' | 'pair';

/** One place for a server: a state root, and whichever process serves it now. */
export interface Host {
  readonly stateRoot: string;
  server: ServerProcess;
  /** Those before it, and when each was gone, in seconds since boot. */
  readonly former: { readonly server: ServerProcess; readonly goneAt: number }[];
  start(more?: { readonly env?: Record<string, string>; readonly wrapper?: readonly string[] }): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<number | null>;
}

export interface World extends Target {
  readonly kind: WorldKind;
  readonly hosts: readonly Host[];
  readonly leaseMs: number;
  /** There in a pair. */
  readonly postgres?: { readonly server: TestPostgres; readonly dsn: string };
  readonly s3?: TestS3;
  query<T>(text: string): Promise<T[]>;
  /** What all servers have logged since the last mark. */
  said(): string;
  mark(): void;
  /** Stops the servers in order; their exit codes. */
  stop(): Promise<(number | null)[]>;
  /** Whatever state things are in. */
  remove(): Promise<void>;
}

const settings = {
  SKILLBOX_LOG_LEVEL: 'info',
  SKILLBOX_MAX_CONCURRENT_EXECS: '4',
  SKILLBOX_TENANT_CONCURRENT_EXECS: '3',
  // As in production: what stands ready must not outlive a crash either.
  SKILLBOX_WARM_MEMORY: '256Mi',
  SKILLBOX_DRAIN_TIMEOUT: '2s',
};
const scopes = ['skills:read', 'skills:write', 'executions:read', 'executions:run', 'sandboxes:read', 'sandboxes:use'] as const;
const diskBytes = 96 * 2 ** 20;

export async function createWorld(kind: WorldKind, random: () => number): Promise<World> {
  return kind === 'alone' ? createAlone(random) : createPair(random);
}

async function createAlone(random: () => number): Promise<World> {
  const stateRoot = newStateRoot();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=700`, 'tmpfs', stateRoot]);
  const leaseMs = 3000;
  const env = {
    ...settings,
    SKILLBOX_LEASE_TTL: `${leaseMs}ms`,
    SKILLBOX_DISK_RESERVE: '4Mi',
    SKILLBOX_MIN_FREE_DISK: '4Mi',
  };
  // Mounts that a fault lays over it are seen by this one server only.
  const wrapper = ['/usr/bin/unshare', '--mount', '--propagation', 'private'];
  const host = await createHost(stateRoot, env, wrapper);
  const query = async <T>(text: string): Promise<T[]> => {
    const database = new Sqlite(join(stateRoot, 'db/skillbox.sqlite'), { readonly: true });
    try {
      return database.prepare(text).all() as T[];
    } finally {
      database.close();
    }
  };
  const unmount = async (): Promise<void> => void execFileSync('umount', ['--lazy', stateRoot]);
  return furnish({ kind: 'alone', hosts: [host], leaseMs, query, undo: [unmount] }, random);
}

async function createPair(random: () => number): Promise<World> {
  const programs = postgresFolder();
  if (!programs) throw new Error('PostgreSQL is not installed: scripts/setup.sh test');
  const [server, s3] = await Promise.all([startPostgres(programs), startS3()]);
  const dsn = await server.createDatabase();
  const leaseMs = 2500;
  const env = {
    ...settings,
    SKILLBOX_DB_DSN: dsn,
    SKILLBOX_DB_TIMEOUT: '1500ms',
    SKILLBOX_S3_ENDPOINT: s3.endpoint,
    SKILLBOX_S3_BUCKET: `box-${randomBytes(4).toString('hex')}`,
    SKILLBOX_S3_ACCESS_KEY: s3.accessKey,
    SKILLBOX_S3_SECRET_KEY: s3.secretKey,
    SKILLBOX_SECRET_KEY: 'the same secret on all hosts of this box',
    SKILLBOX_LEASE_TTL: `${leaseMs}ms`,
  };
  const hosts = await Promise.all([createHost(newStateRoot(), env), createHost(newStateRoot(), env)]);
  const query = async <T>(text: string): Promise<T[]> => {
    const client = new pg.Client(dsn);
    await client.connect();
    try {
      return (await client.query(text)).rows as T[];
    } finally {
      await client.end();
    }
  };
  const undo = [() => server.stop(), () => s3.stop()];
  return furnish({ kind: 'pair', hosts, leaseMs, query, undo, postgres: { server, dsn }, s3 }, random);
}

async function createHost(stateRoot: string, env: Record<string, string>, wrapper: readonly string[] = []): Promise<Host> {
  mkdirSync(stateRoot, { recursive: true });
  const former: Host['former'] = [];
  const launch = (more: Parameters<Host['start']>[0] = {}) =>
    startServerProcess({ stateRoot, env: { ...env, ...more.env }, wrapper: [...wrapper, ...(more.wrapper ?? [])] });
  const host: Host = {
    stateRoot,
    former,
    server: await launch(),
    async start(more) {
      host.server = await launch(more);
    },
    async kill() {
      await host.server.kill();
      former.push({ server: host.server, goneAt: uptime() });
    },
    async stop() {
      const code = await host.server.stop();
      former.push({ server: host.server, goneAt: uptime() });
      return code;
    },
  };
  return host;
}

interface Shell extends Pick<World, 'kind' | 'hosts' | 'leaseMs' | 'query' | 'postgres' | 's3'> {
  readonly undo: readonly (() => Promise<void>)[];
}

/** Skills, tenants with keys and credits, and a template that costs something. */
async function furnish({ undo, ...shell }: Shell, random: () => number): Promise<World> {
  const [first] = shell.hosts as [Host];
  const { server } = first;
  const tenants = await Promise.all(
    ['red', 'blue'].map(async (name) => {
      const key = await server.newKey(name, [...scopes]);
      for (const lang of langs) expectStatus(await server.push(skillOf(lang), key), 201);
      expectStatus(await server.json('/v1/credits/grants', { body: { tenant: name, amount: 1000 } }), 201);
      return { name, key };
    }),
  );
  const priced = {
    ...{ price_per_hour: 3.6, ttl: { default: '10m' }, idle: { action: 'keep' } },
    resources: { memory: '128Mi', disk: '8Mi', cpu: 1, processes: 32 },
  };
  expectStatus(await server.json('/v1/templates/priced', { method: 'PUT', body: priced }), 200);
  const marks = new Map<ServerProcess, number>();
  const everyServer = (): ServerProcess[] => shell.hosts.flatMap(({ server: now, former }) => [...former.map((one) => one.server), now]);
  return {
    ...shell,
    tenants,
    adminKey: server.key,
    address() {
      const alive = shell.hosts.filter((host) => host.server.running);
      const choice = alive[Math.floor(random() * alive.length)] ?? first;
      return choice.server.url;
    },
    said: () => [...new Set(everyServer())].map((one) => one.log().slice(marks.get(one) ?? 0)).join(''),
    mark() {
      for (const one of everyServer()) marks.set(one, one.log().length);
    },
    stop: () => Promise.all(shell.hosts.filter((host) => host.server.running).map((host) => host.stop())),
    async remove() {
      for (const host of shell.hosts) if (host.server.running) await host.server.kill();
      for (const step of undo) await step();
      for (const { server: last, stateRoot } of shell.hosts) {
        for (const name of [last.host, `${last.host}-living`]) await removeGroups(name);
        rmSync(stateRoot, { recursive: true, force: true });
      }
    },
  };
}

/** With whatever a finding left in them. */
async function removeGroups(name: string): Promise<void> {
  for (const pid of sandboxGroups(name).flatMap(pidsOf)) kill(pid);
  for (let tries = 0; tries < 50 && sandboxGroups(name).some((group) => pidsOf(group).length > 0); tries += 1) await delay(20);
  for (const group of [...sandboxGroups(name), ...groupParents(name)]) rmdirSync(group);
}

function expectStatus({ status, body }: { readonly status: number; readonly body: unknown }, wanted: number): void {
  if (status !== wanted) throw new Error(`the box could not be furnished: ${status} ${JSON.stringify(body)}`);
}
