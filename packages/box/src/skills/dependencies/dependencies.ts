/** The dependencies of skills: installed once for a tenant, a lock and an interpreter, kept as a blob, mounted into runs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type DependencyKind, type SkillDependencies } from '@skillbox/protocol';
import type { Caller } from '../../access/caller.ts';
import type { Tenants } from '../../access/tenants.ts';
import type { Config } from '../../config.ts';
import type { Events } from '../../events/events.ts';
import { createSlots, isWaiting, type Slot } from '../../executions/slots.ts';
import type { Logger } from '../../observe/log.ts';
import type { HostedSandboxes } from '../../sandbox/create-sandboxes.ts';
import type { Provider } from '../../sandbox/provider.ts';
import { boxActor, livingStates } from '../../sandbox/records.ts';
import type { Blobs } from '../../store/blobs.ts';
import type { Database } from '../../store/database.ts';
import type { DependencyBuildRow } from '../../store/tables.ts';
import { formatDuration } from '../../units.ts';
import { type ArchiveLimits, readArchive } from '../archive.ts';
import type { Skill } from '../catalog.ts';
import { buildCaller, buildDependencies, buildTenant } from './build.ts';
import { declaredDependencies, kindOf } from './declared.ts';
import { createDependencyFolders } from './folders.ts';
import { mountPoints } from './inside.ts';
import { createBuildLog } from './log.ts';
import { type Built, createBuildRecords, describeBuild } from './records.ts';
import { buildKey, findToolchain, isUsable, type NoToolchain, type Toolchain } from './toolchain.ts';

/** A skill, as far as its dependencies go. */
export type Dependent = Pick<Skill, 'tenant' | 'name' | 'version' | 'lock'>;

export interface Dependencies {
  /** Starts to install what the skill declares, unless that is done or under way. Never rejects: a run tries again. */
  start(skill: Dependent, actor: Caller['actor']): Promise<void>;
  /** As start, and what failed is tried again. */
  retry(skill: Dependent, actor: Caller['actor']): Promise<SkillDependencies>;
  /** By lock. */
  describe(tenant: string, locks: readonly string[]): Promise<ReadonlyMap<string, SkillDependencies>>;
  log(skill: Dependent): Promise<string>;
  /** Whether a run can start now; starts what was never installed. Throws dependencies_failed. */
  check(skill: Dependent): Promise<'available' | 'building'>;
  /** Resolves when a run can start. Throws dependencies_failed, dependencies_building when the time is up, cancelled, shutting_down. */
  wait(skill: Dependent, options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<void>;
  /** What a run mounts; undefined for a skill that needs nothing. */
  mount(skill: Dependent): Promise<{ readonly folder: string; readonly at: string } | undefined>;
}

/** With what the host does to them. */
export interface HostedDependencies extends Dependencies {
  /** The lease is held: takes up what the former process left, removes its sandboxes. Also at every beat. */
  recover(): Promise<void>;
  /** Another host is gone for good. */
  hostGone(host: string): Promise<void>;
  /** This host has lost its lease: others take up its builds. */
  abandon(): void;
  leavesWork(): Promise<boolean>;
  sweep(unusedForMs: number): void;
  removeOutdated(before: string): Promise<number>;
  /** Builds end and are taken up at the next start; who waits is told. */
  stop(): Promise<void>;
}

export interface DependencyParts {
  readonly database: Database;
  readonly blobs: Blobs;
  readonly events: Events;
  readonly tenants: Tenants;
  readonly config: Config;
  readonly host: string;
  readonly log: Logger;
  readonly provider: Pick<Provider, 'interpreter'>;
  readonly sandboxes: HostedSandboxes;
  /** Where unpacked trees are kept. */
  readonly folder: string;
  readonly archiveLimits: ArchiveLimits;
}

const channel = 'dependencies';
const pollMs = 500;
const flushMs = 1000;
/** Also where the installer is silent, so that it is noticed when nobody wants it any more. */
const lookEveryTicks = 5;
/** A build during which the server died this often may be what killed it. */
const mostRestarts = 3;
const maxEntries = 100_000;
const tenantQueue = 100;
const lookAgainMs = 30_000;
const longestWaitMs = 2 ** 31 - 1;

export function createDependencies(parts: DependencyParts): HostedDependencies {
  const { blobs, config, database, host, log, provider, sandboxes } = parts;
  const limits = { maxBytes: config.maxDependenciesSize, maxEntries };
  const records = createBuildRecords(database, parts.events, parts.tenants, host);
  const folders = createDependencyFolders(parts.folder, blobs, limits);
  const slots = createSlots({ total: config.maxBuilds, queue: Number.POSITIVE_INFINITY, tenantQueue, tenantSlots: () => config.maxBuilds });
  /** What this process works on, by tenant and key. */
  const active = new Map<string, { readonly controller: AbortController; readonly done: Promise<void> }>();
  const openedAt = new Date().toISOString();
  let leftoversRemoved = false;
  const settling = new Map<string, Promise<DependencyBuildRow | undefined>>();
  const found = new Map<DependencyKind, { readonly toolchain: Promise<Toolchain | NoToolchain>; readonly until: number }>();
  const closing = new AbortController();
  let wake: () => void = () => undefined;
  let woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const wakeAll = (): void => {
    wake();
    woken = new Promise((resolve) => {
      wake = resolve;
    });
  };
  const stopListening = database.listen(channel, wakeAll);

  /** Asked once; what was missing is looked for again, since an operator may install it meanwhile. */
  const toolchainOf = async (kind: DependencyKind): Promise<Toolchain | NoToolchain> => {
    const known = found.get(kind);
    if (known && known.until > performance.now()) return known.toolchain;
    const toolchain = findToolchain(kind, provider.interpreter(kind), config);
    found.set(kind, { toolchain, until: performance.now() + lookAgainMs });
    const result = await toolchain;
    if (isUsable(result)) found.set(kind, { toolchain, until: Number.POSITIVE_INFINITY });
    return result;
  };

  const keyOf = async (tenant: string, lock: string): Promise<string> => {
    const toolchain = await toolchainOf(kindOf(lock));
    if (isUsable(toolchain)) return buildKey(tenant, lock, toolchain);
    throw new BoxError('dependencies_failed', `Dependencies cannot be installed here: ${toolchain.reason}`, { hint: toolchain.fix });
  };

  const rowOf = async (skill: Dependent): Promise<DependencyBuildRow | undefined> =>
    skill.lock === null ? undefined : records.row(skill.tenant, await keyOf(skill.tenant, skill.lock));

  const ensure = async ({ tenant, lock }: Dependent, actor: Caller['actor']): Promise<void> => {
    if (lock === null) return;
    const row = await records.insert({ tenant, lock, key: await keyOf(tenant, lock) }, actor);
    if (row) launch(row);
  };

  const launch = (row: DependencyBuildRow): void => {
    const name = nameOf(row);
    const controller = new AbortController();
    const done = build(row, controller)
      .catch((error: Error) =>
        log.error(
          { tenant: row.tenant, key: row.key, err: error },
          'the end of a build could not be written; the next heartbeat tries again',
        ),
      )
      .finally(() => {
        active.delete(name);
        wakeAll();
        database.notify(channel);
      });
    active.set(name, { controller, done });
  };

  const build = async (row: DependencyBuildRow, controller: AbortController): Promise<void> => {
    const buildLog = createBuildLog();
    let written = '';
    let ticks = 0;
    const flush = async (): Promise<void> => {
      ticks += 1;
      if (buildLog.text === written && ticks % lookEveryTicks !== 0) return;
      written = buildLog.text;
      // The skill was deleted, or another host has taken it up.
      if (!(await records.writeLog(row, written))) controller.abort('given up');
    };
    // The next one writes more; the end writes all.
    const timer = setInterval(() => void flush().catch(() => undefined), flushMs);
    timer.unref();
    let result: Built | { readonly error: string };
    try {
      result = await install(row, buildLog, controller.signal);
    } catch (error) {
      // Somebody else will write the end.
      if (controller.signal.aborted) return;
      const expected = error instanceof BoxError;
      if (!expected || error.code !== 'dependencies_failed')
        log.error({ tenant: row.tenant, key: row.key, err: error }, 'dependencies could not be installed');
      result = { error: expected ? error.message : 'The box could not install them; the server log has the cause.' };
      buildLog.say(result.error);
    } finally {
      clearInterval(timer);
    }
    await records.finish(row, boxActor, buildLog.text, result).catch(async (error: unknown) => {
      if (!(error instanceof BoxError && error.code === 'quota_exceeded')) throw error;
      buildLog.say(error.message);
      await records.finish(row, boxActor, buildLog.text, { error: error.message });
    });
  };

  const install = async (row: DependencyBuildRow, buildLog: ReturnType<typeof createBuildLog>, signal: AbortSignal): Promise<Built> => {
    const toolchain = await toolchainOf(kindOf(row.lock));
    if (!isUsable(toolchain)) throw new BoxError('dependencies_failed', `${toolchain.reason} ${toolchain.fix}`);
    const place = slots.request(row.tenant, { signal, timeoutMs: longestWaitMs });
    if (isWaiting(place)) buildLog.say('waiting for other builds to end');
    const slot: Slot = isWaiting(place) ? await place.slot : place;
    try {
      const archive = await records.archiveOf(row.tenant, row.lock);
      if (archive === undefined) throw new BoxError('dependencies_failed', 'The skill was deleted meanwhile.');
      const files = await readArchive(await blobs.read(archive), parts.archiveLimits);
      const declared = declaredDependencies(files, kindOf(row.lock));
      if (declared?.lock !== row.lock) throw new BoxError('internal', `The skill's archive does not have the lock ${row.lock}.`);
      return await buildDependencies(
        { blobs, config, limits, sandboxes },
        {
          ...{ toolchain, declared, signal, log: buildLog },
          labels: { tenant: row.tenant, build: row.key.slice(0, 32) },
        },
      );
    } finally {
      slot.release();
    }
  };

  /** One look at the database for all who wait for the same build. */
  const settled = (tenant: string, key: string): Promise<DependencyBuildRow | undefined> => {
    const name = nameOf({ tenant, key });
    const known = settling.get(name);
    if (known) return known;
    const poll = async (): Promise<DependencyBuildRow | undefined> => {
      for (;;) {
        closing.signal.throwIfAborted();
        try {
          const row = await records.row(tenant, key);
          if (row?.state !== 'building') return row;
        } catch (error) {
          // An outage passes; who waits has a time limit of its own.
          if (!(error instanceof BoxError && error.code === 'unavailable')) throw error;
        }
        await Promise.race([woken, sleep(pollMs, undefined, { ref: false })]);
      }
    };
    const polling = poll().finally(() => settling.delete(name));
    polling.catch(() => undefined);
    settling.set(name, polling);
    return polling;
  };

  /** Of the process before this one: what it left goes on building for nobody. */
  const removeLeftovers = async (): Promise<void> => {
    if (leftoversRemoved) return;
    const { items } = await sandboxes.list({ tenant: buildTenant, states: livingStates, limit: 100 });
    for (const { id, host: owner, created_at } of items) {
      if (owner !== host || created_at >= openedAt) continue;
      await sandboxes
        .destroy(buildCaller, id, 'its build is over')
        .catch((error: Error) => log.error({ sandbox: id, err: error }, 'the sandbox of a build could not be removed; it ends by itself'));
    }
    leftoversRemoved = true;
  };

  const takeUpAll = async (owner: string): Promise<void> => {
    for (const row of await records.unfinished(owner)) {
      await takeUp(row).catch((error: Error) =>
        log.error({ tenant: row.tenant, key: row.key, err: error }, 'a build could not be taken up; the next heartbeat tries again'),
      );
    }
  };

  /** Takes up what nobody works on any more. */
  const takeUp = async (row: DependencyBuildRow): Promise<void> => {
    if (active.has(nameOf(row))) return;
    const again = await records.restart(row, boxActor, row.restarts + 1);
    if (!again) return;
    const toolchain = await toolchainOf(kindOf(row.lock));
    const fits = isUsable(toolchain) && buildKey(row.tenant, row.lock, toolchain) === row.key;
    if (fits && again.restarts <= mostRestarts) {
      launch(again);
      return;
    }
    const error = fits
      ? `The server stopped ${again.restarts} times while they were installed.`
      : 'The host that installed them is gone, and this one has another interpreter or index.';
    await records.finish(again, boxActor, `[skillbox] ${error}\n`, { error });
  };

  const failure = ({ name }: Dependent, row: DependencyBuildRow | undefined): BoxError =>
    new BoxError('dependencies_failed', `The dependencies of ${name} could not be installed: ${row?.error ?? 'the build is gone'}`, {
      hint: `Read the log: skillbox skill build-log ${name}. Then push a new version, or try again: skillbox skill build ${name}.`,
    });

  return {
    async start(skill, actor) {
      try {
        await ensure(skill, actor);
      } catch (error) {
        log.warn({ tenant: skill.tenant, skill: skill.name, err: error }, 'a build could not be started');
      }
    },

    async retry(skill, actor) {
      const lock = lockOf(skill);
      await ensure(skill, actor);
      const row = await rowOf(skill);
      const again = row?.state === 'failed' ? await records.restart(row, actor, 0) : undefined;
      if (again) launch(again);
      return describeBuild(lock, again ?? row);
    },

    async describe(tenant, locks) {
      const keys = new Map<string, string>();
      const obstacles = new Map<string, string>();
      for (const lock of new Set(locks)) {
        const toolchain = await toolchainOf(kindOf(lock));
        if (isUsable(toolchain)) keys.set(lock, buildKey(tenant, lock, toolchain));
        else obstacles.set(lock, `${toolchain.reason} ${toolchain.fix}`);
      }
      const rows = new Map((await records.rows(tenant, [...keys.values()])).map((row) => [row.key, row]));
      const one = (lock: string) => describeBuild(lock, rows.get(keys.get(lock) ?? ''), obstacles.get(lock));
      return new Map(locks.map((lock) => [lock, one(lock)]));
    },

    async log(skill) {
      lockOf(skill);
      return (await rowOf(skill))?.log ?? '';
    },

    async check(skill) {
      let row = await rowOf(skill);
      if (!row) {
        await ensure(skill, boxActor);
        row = await rowOf(skill);
      }
      if (row?.state === 'failed') throw failure(skill, row);
      return row?.state === 'available' ? 'available' : 'building';
    },

    async wait(skill, { signal, timeoutMs }) {
      if (skill.lock === null) return;
      const key = await keyOf(skill.tenant, skill.lock);
      const timer = new AbortController();
      try {
        const row = await Promise.race([
          settled(skill.tenant, key),
          rejected(signal, () => new BoxError('cancelled', 'Cancelled while it waited for its dependencies.')),
          sleep(timeoutMs, undefined, { signal: timer.signal, ref: false }).then(() => {
            throw new BoxError('dependencies_building', `Its dependencies are still being installed after ${formatDuration(timeoutMs)}.`);
          }),
        ]);
        if (row?.state !== 'available') throw failure(skill, row);
      } finally {
        timer.abort();
      }
    },

    async mount(skill) {
      if (skill.lock === null) return undefined;
      const row = await rowOf(skill);
      if (row?.state !== 'available' || row.blob === null) throw failure(skill, row);
      await records.noteUse(row);
      return { folder: await folders.folder(row.key, row.blob), at: mountPoints[kindOf(skill.lock)] };
    },

    async recover() {
      await removeLeftovers();
      await takeUpAll(host);
    },

    hostGone: takeUpAll,

    abandon() {
      for (const { controller } of active.values()) controller.abort('interrupted');
    },

    leavesWork: async () => (await records.unfinished(host)).length > 0,
    sweep: (unusedForMs) => folders.sweep(unusedForMs),
    removeOutdated: (before) => records.removeOutdated(before),

    async stop() {
      stopListening();
      closing.abort(stopping());
      wakeAll();
      slots.close();
      this.abandon();
      await Promise.all([...active.values()].map(({ done }) => done));
    },
  };
}

const nameOf = ({ tenant, key }: { readonly tenant: string; readonly key: string }): string => `${tenant} ${key}`;
const stopping = (): BoxError => new BoxError('shutting_down', 'The box is stopping.');

function lockOf({ name, version, lock }: Dependent): string {
  if (lock !== null) return lock;
  throw new BoxError('not_found', `${name} ${version} declares no dependencies.`, {
    hint: 'Add requirements.txt, or package.json with package-lock.json, beside SKILL.md.',
  });
}

function rejected(signal: AbortSignal, error: () => BoxError): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(error());
    signal.addEventListener('abort', () => reject(error()), { once: true });
  });
}
