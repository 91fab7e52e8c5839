/** Where the time of an execution went: in its record, in the answer's Server-Timing and in /metrics. */

import { type Execution, type ExecutionTimings, executionPhases } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { main } from './cli-process.ts';
import { shellSkill, until } from './wire.ts';

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_MAX_CONCURRENT_EXECS: '1', SKILLBOX_QUEUE_TIMEOUT: '1500ms' });
  expect(await box.push(shellSkill())).toMatchObject({ status: 201 });
});
afterAll(() => box.stop());

const send = (run: string, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  box.json<Execution>('/v1/executions', { body: { skill: 'shell', env: { RUN: run }, ...more }, headers });
const get = async (id: string) => (await box.json<Execution>(`/v1/executions/${id}`)).body;

const timingsOf = ({ timings }: Execution): Record<keyof ExecutionTimings, number> => {
  expect(timings).not.toBeNull();
  for (const phase of executionPhases) expect(timings?.[phase], phase).toBeGreaterThanOrEqual(0);
  return timings as Record<keyof ExecutionTimings, number>;
};
const serverTiming = (headers: Headers): Record<string, number> =>
  Object.fromEntries(
    (headers.get('server-timing') ?? '').split(', ').map((part) => {
      const [, name = '', ms = ''] = /^(\w+);dur=([\d.]+)$/.exec(part) ?? [];
      return [name, Number(ms)];
    }),
  );

it('has each phase, and they add up to what the caller waited', async () => {
  const started = performance.now();
  const { body, headers } = await send('sleep 0.2; echo x > $SANDBOX_FILES_DIR/b; echo y > $SANDBOX_FILES_DIR/a');
  const waited = performance.now() - started;
  const timings = timingsOf(body);
  expect(timings.queue).toBe(0);
  // On a busy machine the server may hear late that the program has started.
  expect(timings.sandbox + timings.run).toBeGreaterThanOrEqual(200);
  expect(timings.run).toBeGreaterThan(50);
  expect(timings.collect, 'two files were stored').toBeGreaterThan(0.05);
  expect(timings.sandbox + timings.run + timings.collect).toBeGreaterThan((body.duration_ms ?? 0) - 1);
  expect(timings.sandbox + timings.run + timings.collect).toBeLessThan((body.duration_ms ?? 0) + 20);
  const sum = executionPhases.reduce((total, phase) => total + timings[phase], 0);
  const header = serverTiming(headers);
  expect(header).toMatchObject(timings);
  expect(header.receive).toBeGreaterThan(0);
  expect(header.respond).toBeGreaterThan(0);
  expect(header.total).toBeGreaterThanOrEqual(sum + (header.respond ?? 0));
  expect(header.total).toBeLessThan(sum + (header.respond ?? 0) + (header.receive ?? 0) + 20);
  expect(header.total).toBeLessThanOrEqual(waited);
});

it('stands in the record as it was answered, and in lists', async () => {
  const { body } = await send('echo said; echo 1 > $SANDBOX_OUTPUT; touch $SANDBOX_FILES_DIR/{b,ä,a,Z}');
  expect(body).toMatchObject({ status: 'success', output: 1, logs: 'said\n' });
  expect({ ...(await get(body.execution_id)), files_url: '' }).toEqual({ ...body, files_url: '' });
  const { items } = (await box.json<{ items: Execution[] }>('/v1/executions?limit=1')).body;
  expect(items[0]).toMatchObject({ execution_id: body.execution_id, timings: body.timings, warm: body.warm });
});

it('tells a sandbox that was made for it from one that stood ready', async () => {
  const again = { ...shellSkill(), 'SKILL.md': (shellSkill()['SKILL.md'] ?? '').replace('name: shell', 'name: twice') };
  await box.push(again);
  const run = () => box.run('twice', { env: { RUN: 'true' } });
  const cold = await run();
  expect(cold.warm).toBe(false);
  await expect.poll(() => box.box.provider.warm.ready >= box.box.provider.warm.wanted, { timeout: 10_000 }).toBe(true);
  const warm = await run();
  expect(warm.warm).toBe(true);
  expect(timingsOf(warm).sandbox).toBeLessThan(timingsOf(cold).sandbox);
});

it('is null for what was not reached', async () => {
  const held = (await send('sleep 30', { wait: false })).body.execution_id;
  await until(
    () => get(held),
    ({ status }) => status === 'running',
  );
  expect(await get(held)).toMatchObject({ timings: null, warm: null });
  const late = await send('echo never');
  expect(late.body).toMatchObject({ status: 'timeout', error: { code: 'queue_timeout' }, warm: null });
  expect(late.body.timings).toMatchObject({ sandbox: null, run: null, collect: null });
  expect(late.body.timings?.queue).toBeGreaterThan(1400);
  expect(late.body.timings?.claim).toBeGreaterThan(0);
  expect(late.body.timings?.record).toBeGreaterThanOrEqual(0);

  const waiting = send('echo after');
  await until(async () => (await box.json<{ items: unknown[] }>('/v1/executions?status=queued')).body.items.length === 1);
  await box.json(`/v1/executions/${held}/cancel`, { method: 'POST' });
  const { body } = await waiting;
  const timings = timingsOf(body);
  expect(timings.queue).toBeGreaterThan(0);
  expect(Math.abs(timings.queue - body.queued_ms)).toBeLessThan(50);
  // What was ended by force has run, and nothing was collected of it.
  const cancelled = timingsOf(await get(held));
  expect(cancelled.run).toBeGreaterThan(1400);
});

it('has no Server-Timing for an answer that was there before', async () => {
  const key = { 'Idempotency-Key': 'once' };
  const first = await send('true', {}, key);
  const second = await send('true', {}, key);
  expect(second.body.execution_id).toBe(first.body.execution_id);
  expect(second.body.timings).toEqual(first.body.timings);
  expect(first.headers.has('server-timing')).toBe(true);
  expect(second.headers.has('server-timing')).toBe(false);
});

it('is counted by phase in /metrics', async () => {
  const count = async (phase: string): Promise<number> => {
    const text = await (await box.request('/metrics')).text();
    const lines = text.matchAll(new RegExp(`^skillbox_execution_phase_seconds_count\\{phase="${phase}",start="\\w+"\\} (\\d+)$`, 'gm'));
    return [...lines].reduce((sum, [, number]) => sum + Number(number), 0);
  };
  const phases = [...executionPhases, 'respond'];
  const before = await Promise.all(phases.map(count));
  await send('true');
  expect(await Promise.all(phases.map(count))).toEqual(before.map((number) => number + 1));
});

it('is shown by the command line', async () => {
  const { execution_id: id } = await box.run('shell', { env: { RUN: 'true' } });
  const env = { SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key, HOME: box.stateRoot };
  const shown = await main(['exec', 'show', id], env);
  expect(shown.stdout).toMatch(/queue 0ms · claim [\d.]+ms · sandbox [\d.]+ms · run [\d.]+ms · collect [\d.]+ms · record [\d.]+ms/);
  expect(shown.stdout).toMatch(/(warm|cold): /);
  const { timings } = await get(id);
  expect(JSON.parse((await main(['exec', 'show', id, '--json'], env)).stdout)).toMatchObject({ timings });
});
