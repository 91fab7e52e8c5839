/** Ten times more than the box can do, from four tenants: each request gets a result or an honest refusal, and the box stays responsive. */

import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { leftoversSettled } from '../support/leftovers.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const slots = 4;
const tenants = ['north', 'east', 'south', 'west'];
const clientsPerTenant = (slots * 10) / tenants.length;
const forMs = 8000;

let server: ServerProcess;
beforeAll(async () => {
  const env = {
    SKILLBOX_MAX_CONCURRENT_EXECS: String(slots),
    SKILLBOX_TENANT_CONCURRENT_EXECS: '2',
    SKILLBOX_QUEUE_SIZE: '20',
    SKILLBOX_TENANT_QUEUE_SIZE: '6',
  };
  server = await startServerProcess({ stateRoot: newStateRoot(), env });
});
afterAll(async () => {
  await server.stop();
  rmSync(server.stateRoot, { recursive: true, force: true });
});

it('answers everything, serves all tenants alike, and leaves nothing', { timeout: 60_000 }, async () => {
  const deadline = performance.now() + forMs;
  const answers: Record<string, number> = {};
  const served: Record<string, number> = {};
  const client = async (tenant: string, key: string): Promise<void> => {
    while (performance.now() < deadline) {
      const { status, body, headers } = await server.json<Execution & { error: unknown }>('/v1/executions', {
        ...{ key, body: { skill: 'probe-bash', env: { PROBE: 'echo hi; sleep 0.1' } } },
      });
      const what = status === 200 ? `200 ${body.status}` : `${status} ${String(body.error)} retry ${headers.get('retry-after')}`;
      answers[what] = (answers[what] ?? 0) + 1;
      if (status === 200) served[tenant] = (served[tenant] ?? 0) + 1;
      // Far less patient than it was asked to be.
      else await delay(100);
    }
  };
  const latencies: number[] = [];
  const probe = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const asked = performance.now();
      expect((await server.request('/livez', { key: null })).status).toBe(200);
      latencies.push(performance.now() - asked);
      await delay(20);
    }
  };
  const keys = await Promise.all(tenants.map((tenant) => server.newKey(tenant)));
  for (const key of keys) await server.push(probeSkill('bash'), key);
  const crowd = tenants.flatMap((tenant, index) => Array.from({ length: clientsPerTenant }, () => client(tenant, keys[index] ?? '')));
  await Promise.all([probe(), ...crowd]);

  latencies.sort((a, b) => a - b);
  const at = (share: number): number => Math.round(latencies[Math.floor(latencies.length * share)] ?? Number.NaN);
  console.log(
    `answers ${JSON.stringify(answers)}; by tenant ${JSON.stringify(served)}; /livez p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${latencies.length}`,
  );
  expect(Object.keys(answers).sort()).toEqual(['200 success', '429 queue_full retry 1']);
  expect(at(0.99)).toBeLessThan(200);
  const shares = tenants.map((tenant) => served[tenant] ?? 0);
  expect(Math.min(...shares)).toBeGreaterThan(Math.max(...shares) * 0.7);
  expect(await leftoversSettled({ ...server }, { standby: 2 })).toEqual([]);
  const metrics = await (await server.request('/metrics')).text();
  expect(metrics).toMatch(/^skillbox_executions_running 0$/m);
  expect(metrics).toMatch(/^skillbox_executions_queued 0$/m);
});
