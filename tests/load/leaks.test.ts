/** Hundreds of runs in a row and many at once: afterwards the server has what it had before, and the host too. */

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { leftoversSettled } from '../support/leftovers.ts';
import { residentBytes } from '../support/memory.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { long } from './crowds.ts';

const standby = 2;
const inARow = long ? 1000 : 300;
const atOnce = long ? 200 : 100;
/**
 * What may stay in memory: SQLite's cache of the pages these runs wrote (a few MiB), and what the allocators of V8 and glibc
 * keep for the next burst. About 10 MiB are seen; with 24 a leak of one 16 KiB buffer for each run shows.
 */
const marginBytes = 24 * 2 ** 20;

let server: ServerProcess;
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });

beforeAll(async () => {
  server = await startServerProcess({ stateRoot: newStateRoot(), env: { SKILLBOX_LOG_LEVEL: 'error' } });
  await server.push(probeSkill('bash'));
});
afterAll(async () => {
  agent.destroy();
  await server.stop();
  rmSync(server.stateRoot, { recursive: true, force: true });
});

describe('nothing leaks', () => {
  it(`${inARow} runs in a row and ${atOnce} at once`, { timeout: 120_000 }, async () => {
    // Twice the slots at once, so that every lazy part and every pool has its full size before the baseline.
    await Promise.all(Array.from({ length: 40 }, () => run()));
    const before = await measure();

    const started = performance.now();
    for (let count = 0; count < inARow; count += 1) expect(await run()).toBe('success');
    const rowMs = performance.now() - started;
    const between = await measure();

    const burst = performance.now();
    const together = await Promise.all(Array.from({ length: atOnce }, () => run()));
    const burstMs = performance.now() - burst;
    expect(new Set(together)).toEqual(new Set(['success']));
    const after = await measure();

    const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
    console.log(
      `${inARow} in a row: ${(rowMs / inARow).toFixed(1)} ms each; ${atOnce} at once: ${Math.round(burstMs)} ms; memory ${mib(before.bytes)} → ${mib(between.bytes)} → ${mib(after.bytes)}; descriptors ${before.descriptors} → ${between.descriptors} → ${after.descriptors}`,
    );
    expect(await leftoversSettled({ ...server }, { standby })).toEqual([]);
    expect(after.processes).toEqual(before.processes);
    expect(after.folders).toEqual(before.folders);
    // A database checkpoint may hold one more for a moment.
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 1);
    expect(after.bytes - before.bytes).toBeLessThan(marginBytes);
  });
});

interface Measures {
  readonly bytes: number;
  readonly descriptors: number;
  /** Children of the server: its standby launchers. */
  readonly processes: number;
  readonly folders: readonly string[];
}

/** After its connections are closed, its garbage is collected and its tear-downs are through. */
async function measure(): Promise<Measures> {
  agent.destroy();
  await leftoversSettled({ ...server }, { standby });
  let last = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 15; tries += 1) {
    server.signal('SIGUSR2');
    await delay(150);
    const now = residentBytes(server.pid);
    if (tries > 2 && Math.abs(now - last) < 2 ** 20) break;
    last = now;
  }
  return {
    bytes: residentBytes(server.pid),
    descriptors: readdirSync(`/proc/${server.pid}/fd`).length,
    processes: readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ').filter(Boolean).length,
    folders: ['run', 'run/spool', 'sandboxes', 'sandboxes/skills', 'blobs/tmp'].flatMap((folder) =>
      readdirSync(`${server.stateRoot}/${folder}`).map((name) => `${folder}/${name}`),
    ),
  };
}

/** Status of one quick run; by plain http, because fetch would cost more than the run. */
function run(): Promise<string> {
  const body = JSON.stringify({ skill: 'probe-bash', env: { PROBE: 'echo hi' } });
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${server.key}`, 'Content-Type': 'application/json', 'Content-Length': body.length };
    const sent = request(`${server.url}/v1/executions`, { method: 'POST', headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(String((JSON.parse(text) as { status?: string; error?: string }).status ?? text)));
    });
    sent.on('error', reject).end(body);
  });
}
