/** How executions did of late, against records whose figures are known. */

import { randomUUID } from 'node:crypto';
import type { ExecutionFigures } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { echoSkill } from './wire.ts';

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox();
  await box.push(echoSkill());
});
afterAll(() => box.stop());

const figures = async (query: string, key?: string) =>
  (await box.json<ExecutionFigures>(`/v1/executions/figures?${query}`, key ? { key } : {})).body;

/** Rows as a run leaves them: of one tenant, so many seconds ago. */
async function insert(tenant: string, rows: readonly { ago: number; skill?: string; status: string; ms?: number; warm?: boolean }[]) {
  const made = rows.map(({ ago, skill = 'echo', status, ms, warm }) => ({
    ...{ id: randomUUID(), tenant, skill_name: skill, skill_version: '1.0.0', status, input: '{}', request: null, output: null },
    ...{ log: null, log_size: 0, exit_code: 0, signal: null, queued_ms: 0, duration_ms: ms ?? null, peak_memory_bytes: null, cpu_ms: null },
    ...{ provider: null, host: 'h', cancel_requested: 0, actor: 'adm:x', started_at: null, finished_at: null },
    error: status === 'failed' ? JSON.stringify({ code: 'exit_nonzero', message: 'x' }) : null,
    timings: ms === undefined ? null : JSON.stringify({ queue: 0, claim: 1, sandbox: 2, run: ms, collect: null, record: 1 }),
    warm: warm === undefined ? null : Number(warm),
    created_at: new Date(Date.now() - ago * 1000).toISOString(),
  }));
  await box.box.store.database.transaction(async (tx) => {
    for (let at = 0; at < made.length; at += 500)
      await tx
        .insertInto('executions')
        .values(made.slice(at, at + 500))
        .execute();
  });
}

describe('figures of executions', () => {
  it('count by how they ended and when they began', async () => {
    const key = await box.newKey('counted');
    await insert('counted', [
      ...Array.from({ length: 10 }, (_, at) => ({ ago: 30, status: 'success', ms: at + 1, warm: at < 5 })),
      { ago: 30, status: 'failed', ms: 100 },
      { ago: 31, status: 'timeout', skill: 'slow' },
      { ago: 1200, status: 'cancelled' },
      { ago: 2, status: 'running' },
      { ago: 90_000, status: 'success', ms: 9999 },
    ]);
    const hour = await figures('window=1h', key);
    const sum = (pick: 'success' | 'failed' | 'other') => hour.points.reduce((total, point) => total + point[pick], 0);
    expect([sum('success'), sum('failed'), sum('other')]).toEqual([10, 2, 2]);
    expect(hour).toMatchObject({ complete: true, running: 1, queued: 0, sampled: 14, step_seconds: 60, warm: 0.5 });
    expect(hour.errors).toEqual([{ code: 'exit_nonzero', count: 1 }]);
    expect(hour.phases.find(({ phase }) => phase === 'run')).toEqual({ phase: 'run', p50: 6, p95: 100 });
    expect(hour.phases.map(({ phase }) => phase)).toEqual(['queue', 'claim', 'sandbox', 'run', 'record']);
    expect(hour.total).toEqual({ p50: 10, p95: 104 });
    expect(hour.skills).toMatchObject([
      { skill: 'echo', runs: 13, failed: 1 },
      { skill: 'slow', runs: 1, failed: 1, total: null },
    ]);
    expect((await figures('window=15m', key)).points.reduce((total, { other }) => total + other, 0)).toBe(1);
    expect(await figures('window=1h&skill=slow', key)).toMatchObject({ sampled: 1, skills: [{ skill: 'slow' }] });
    for (const { time } of hour.points) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
  });

  it('say so when there was too much to count, and stay quick', async () => {
    const key = await box.newKey('busy');
    await insert(
      'busy',
      Array.from({ length: 51_000 }, (_, at) => ({ ago: at / 20, status: 'success', ms: 5 })),
    );
    const begun = performance.now();
    const hour = await figures('window=1h', key);
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(hour.complete).toBe(false);
    expect(hour.points.reduce((total, { success }) => total + success, 0)).toBe(50_000);
    expect(hour.sampled).toBe(2000);
    expect(Date.parse(hour.since)).toBeGreaterThan(Date.now() - 2600_000);
  });

  it('are those of real runs', async () => {
    const key = await box.newKey('real');
    await box.push(echoSkill(), key);
    await box.run('echo', { input: 1 }, key);
    const { points, total, skills } = await figures('window=15m', key);
    expect(points).toMatchObject([{ success: 1 }]);
    expect(total?.p50).toBeGreaterThan(0);
    expect(skills).toMatchObject([{ skill: 'echo', runs: 1 }]);
  });
});
