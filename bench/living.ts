/**
 * Living sandboxes through the API: what a create costs, what an exec costs beyond the same command by hand, and what many idle
 * ones cost in memory. In turns, so that noise hits all alike. Prints a table, and JSON as the last line.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { memoryOf } from '../tests/support/memory.ts';
import { startServerProcess } from '../tests/support/server-process.ts';
import { inTurns, median, percentile } from './samples.ts';

const rounds = Number(process.argv[2] ?? 50);
const idleCount = Number(process.argv[3] ?? 200);
const allowed = { createMs: 60, execExtraMs: 10, idleBytes: 200e6 };

const run = promisify(execFile);
const server = await startServerProcess({ env: { SKILLBOX_TENANT_SANDBOXES: '1000' } });
const made: string[] = [];
const create = async (): Promise<string> => {
  const { status, body } = await server.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base', ttl: '1h' } });
  if (status !== 201) throw new Error(JSON.stringify(body));
  made.push(body.id);
  return body.id;
};
const destroy = async (id: string): Promise<void> => {
  await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  made.splice(made.indexOf(id), 1);
};

try {
  const old = await create();
  const exec = async (): Promise<void> => {
    const { body } = await server.json<{ exit_code: number }>(`/v1/sandboxes/${old}/programs`, { body: { argv: ['/bin/true'] } });
    if (body.exit_code !== 0) throw new Error(JSON.stringify(body));
  };
  const fresh: string[] = [];
  const samples = await inTurns(
    {
      create: async () => void fresh.push(await create()),
      exec,
      byHand: async () => void (await run('/bin/true', [], { env: {} })),
    },
    rounds,
    async () => {
      for (const id of fresh.splice(0)) await destroy(id);
    },
  );
  const before = memoryOf(server);
  for (let count = 0; count < idleCount; count += 1) await create();
  const after = memoryOf(server);
  if (after.groups < made.length) throw new Error('this bench needs memory cgroups');
  const idleBytes = after.bytes - before.bytes;
  const result = {
    create_ms: round(median(samples.create)),
    create_p95_ms: round(percentile(samples.create, 0.95)),
    exec_ms: round(median(samples.exec)),
    exec_extra_ms: round(median(samples.exec) - median(samples.byHand)),
    idle_sandboxes: idleCount,
    idle_mb: round(idleBytes / 1e6),
  };
  console.log(`median of ${rounds}: create ${result.create_ms} ms (p95 ${result.create_p95_ms}), allowed ${allowed.createMs}`);
  console.log(`exec ${result.exec_ms} ms, ${result.exec_extra_ms} more than by hand, allowed ${allowed.execExtraMs}`);
  console.log(`${idleCount} idle sandboxes: ${result.idle_mb} MB, allowed ${allowed.idleBytes / 1e6}`);
  console.log(JSON.stringify(result));
  if (result.create_ms > allowed.createMs || result.exec_extra_ms > allowed.execExtraMs || idleBytes > allowed.idleBytes)
    process.exitCode = 1;
} finally {
  await Promise.all(made.slice().map(destroy));
  await server.stop();
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
