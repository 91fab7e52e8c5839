/**
 * Ten times more than the box can do, from several tenants, one of them the loudest by far: each request gets a result or an honest
 * refusal, who asks for little is served as usual, probes are answered, memory stays what it was, and all is as before soon after.
 */

import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { leftoversSettled } from '../support/leftovers.ts';
import { residentBytes } from '../support/memory.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { ask, crowd, type Found, long, percentile, seed, slowness } from './crowds.ts';

const floodMs = long ? 60_000 : 8000;
const usualMs = long ? 5000 : 2500;
const tenants = { loud: 0.6, north: 0.1, east: 0.1, south: 0.1, west: 0.1 };
const python = (code: string) => ({ skill: 'probe-python', input: { code } });
/** The flood, and the smallest thing a quiet tenant can ask for: nearly all of its time is the box's. */
const tiny = python('import json, os\njson.dump({"sum": sum(range(1000))}, open(os.environ["SANDBOX_OUTPUT"], "w"))');
/** A skill as they are: it works for a while, mostly waiting for something. */
const usualSkill = python('import time\ntime.sleep(0.05)\nprint(sum(range(10000)))');
/** What the allocators of V8 and glibc keep for the next burst, and SQLite's cache. */
const marginBytes = 64 * 2 ** 20;
const recoveryMs = 5000;
/** With room for a machine that is not quiet. The aim is twice for both, and 100 ms: docs/overload.md says what was measured. */
const held = { usual: 3, tiny: 12, probeMs: 200 };

let server: ServerProcess;
const keys: Record<string, string> = {};

beforeAll(async () => {
  // As it is out of the box, but for two things: the rate is not held, since that would make the flood smaller before it gets to the
  // slots; and fewer may wait, so that the end does not take a minute.
  const env = { SKILLBOX_WARM_MEMORY: '512Mi', SKILLBOX_TENANT_QUEUE_SIZE: '40' };
  server = await startServerProcess({ stateRoot: newStateRoot(), env });
  for (const tenant of [...Object.keys(tenants), 'quiet']) {
    keys[tenant] = await server.newKey(tenant);
    await server.push(probeSkill('python'), keys[tenant]);
  }
});
afterAll(async () => {
  await server.stop();
  rmSync(server.stateRoot, { recursive: true, force: true });
});

/** What they ask for is answered at this pace whatever else goes on. */
const quiet = (forMs: number) => {
  const headers = { Authorization: `Bearer ${keys.quiet}` };
  const asks = Object.entries({ tiny, usual: usualSkill }).map(([name, body]) => ({ name, path: '/v1/executions', headers, body }));
  return ask({ url: server.url, forMs, everyMs: 120, asks });
};
const median = (found: Found, name: string): number => percentile(found[name]?.latencies ?? [], 0.5);
const probes = (forMs: number) =>
  ask({ ...{ url: server.url, forMs, everyMs: 10 }, asks: ['/livez', '/health', '/ready'].map((path) => ({ name: path, path })) });

/** Runs a second with as many callers as keep it busy and do not flood it. */
async function capacity(forMs: number): Promise<number> {
  let done = 0;
  const end = performance.now() + forMs;
  const caller = async (key: string | undefined): Promise<void> => {
    while (performance.now() < end) {
      const { status } = await server.json<Execution>('/v1/executions', { ...(key && { key }), body: tiny });
      if (status === 200) done += 1;
    }
  };
  await Promise.all(Object.keys(tenants).flatMap((tenant) => [caller(keys[tenant]), caller(keys[tenant])]));
  return (done * 1000) / forMs;
}

it('answers everything, keeps the quiet served, stays as large as it was, and recovers', { timeout: floodMs + 90_000 }, async () => {
  await quiet(1000);
  const perSecond = await capacity(2000);
  await quiet(500);
  const busy = await slowness();
  const alone = await quiet(usualMs);
  const before = await settledBytes();

  const flood = crowd({
    ...{ url: server.url, forMs: floodMs, seed, most: 4000 },
    tenants: Object.entries(tenants).map(([name, share]) => ({
      name,
      key: keys[name] ?? '',
      perSecond: perSecond * 10 * share,
      body: tiny,
    })),
  });
  const within = floodMs - 1500;
  const [{ answers, unsent }, served, probed] = await Promise.all([
    flood,
    delay(1000).then(() => quiet(within)),
    delay(1000).then(() => probes(within)),
  ]);
  const ended = performance.now();
  const back = await timeUntilUsual(median(alone, 'usual') * 2 * busy, ended);
  const after = await settledBytes();

  const probeTimes = Object.values(probed).flatMap(({ latencies }) => latencies);
  const slowest = percentile(probeTimes, 0.99);
  const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
  console.log(
    `seed ${seed}; the box does ${perSecond.toFixed(0)} runs a second, offered ten times that for ${floodMs / 1000} s; answers ${JSON.stringify(answers)}; ` +
      `quiet p50 alone, in the flood: ${['usual', 'tiny'].map((name) => `${name} ${median(alone, name).toFixed(1)}, ${median(served, name).toFixed(1)} ms (${(median(served, name) / median(alone, name)).toFixed(2)} times)`).join('; ')}; ` +
      `probes p50 ${percentile(probeTimes, 0.5).toFixed(1)} ms, p99 ${slowest.toFixed(1)} ms of ${probeTimes.length}; ` +
      `memory ${mib(before)} → ${mib(after)}; usual again after ${Math.round(back)} ms; the machine is ${busy.toFixed(1)} times slower than alone`,
  );
  const kinds = new Set(Object.values(answers).flatMap((counts) => Object.keys(counts)));
  expect([...kinds].filter((kind) => !/^(200 success|429 \w+ retry \d+|503 \w+ retry \d+|stale connection)$/.test(kind))).toEqual([]);
  expect([...kinds].some((kind) => kind.startsWith('429'))).toBe(true);
  expect(unsent).toBe(0);
  expect(Object.values(served).flatMap((one) => Object.keys(one.answers))).toEqual(['200 success', '200 success']);
  expect(median(served, 'usual')).toBeLessThan(median(alone, 'usual') * held.usual * busy);
  // Of a few milliseconds each turn of the server that somebody else has is a part.
  expect(median(served, 'tiny')).toBeLessThan(median(alone, 'tiny') * held.tiny * busy);
  expect(Object.values(probed).flatMap((one) => Object.keys(one.answers))).toEqual(['200', '200', '200']);
  expect(slowest).toBeLessThan(held.probeMs * busy);
  expect(back).toBeLessThan(recoveryMs * busy);
  expect(after - before).toBeLessThan(marginBytes);
  expect(server.running).toBe(true);
  const metrics = await (await server.request('/metrics')).text();
  expect(metrics).toMatch(/^skillbox_executions_running 0$/m);
  expect(metrics).toMatch(/^skillbox_executions_queued 0$/m);
  expect(await server.stop()).toBe(0);
  expect(await leftoversSettled({ ...server }), server.log()).toEqual([]);
});

/** How long after the flood a second of the quiet tenant is as it should be. */
async function timeUntilUsual(most: number, since: number): Promise<number> {
  for (;;) {
    if (median(await quiet(500), 'usual') < most) return performance.now() - since;
    if (performance.now() - since > 60_000) return Number.POSITIVE_INFINITY;
  }
}

/** After its garbage is collected. */
async function settledBytes(): Promise<number> {
  for (let count = 0; count < 4; count += 1) {
    server.signal('SIGUSR2');
    await delay(150);
  }
  return residentBytes(server.pid);
}
