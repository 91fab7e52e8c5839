/** Connections that cost and give nothing: idle listeners by the thousand, slow and half-open ones, giants, and clients that vanish. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { leftoversSettled } from '../support/leftovers.ts';
import { residentBytes } from '../support/memory.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { ask, percentile, slowness } from './crowds.ts';

const standby = 2;
const wantedListeners = 10_000;
/** The server has some 20 for itself, and leaves a quarter for everything that is not a caller. */
const listenersAllowed =
  Math.floor(Number(/^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]) * 0.75) - 100;
const listeners = Math.min(wantedListeners, listenersAllowed);
const bodyTimeoutMs = 1500;

let server: ServerProcess;
beforeAll(async () => {
  const env = { SKILLBOX_BODY_TIMEOUT: `${bodyTimeoutMs}ms`, SKILLBOX_LOG_LEVEL: 'error', SKILLBOX_MAX_CONCURRENT_EXECS: '4' };
  server = await startServerProcess({ stateRoot: newStateRoot(), env });
  await server.push(probeSkill('bash'));
  await server.run('probe-bash', { env: { PROBE: 'echo warm' } });
});
afterAll(async () => {
  await server.stop();
  rmSync(server.stateRoot, { recursive: true, force: true });
});

const descriptors = (): number => readdirSync(`/proc/${server.pid}/fd`).length;
const start = async (probe: string): Promise<string> =>
  (await server.json<Execution>('/v1/executions', { body: { skill: 'probe-bash', env: { PROBE: probe }, wait: false } })).body.execution_id;
const probes = (forMs: number) =>
  ask({ url: server.url, forMs, everyMs: 15, asks: ['/livez', '/ready'].map((path) => ({ name: path, path })) });

/** A connection on which this was said. */
function say(text: string): Socket {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}
const head = (line: string, ...more: string[]): string =>
  `${[line, 'Host: box', `Authorization: Bearer ${server.key}`, ...more].join('\r\n')}\r\n\r\n`;

/** Polls until it holds, or for so long. */
async function until(holds: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await delay(50)) if (await holds()) return true;
  return holds();
}

async function nothingLeft(before: number): Promise<void> {
  expect(await until(() => descriptors() <= before + 1, 10_000), `${descriptors()} descriptors, ${before} before`).toBe(true);
  expect(await leftoversSettled({ ...server }, { standby }), server.log()).toEqual([]);
  const metrics = await (await server.request('/metrics')).text();
  expect(metrics).toMatch(/^skillbox_executions_running 0$/m);
  expect(metrics).toMatch(/^skillbox_executions_queued 0$/m);
}

describe('idle listeners', () => {
  it(`${listeners} of them cost little, hear the end, and leave nothing when they vanish`, { timeout: 90_000 }, async () => {
    if (listeners < wantedListeners) console.warn(`ONLY ${listeners} LISTENERS: this machine allows no more descriptors (ulimit -Hn)`);
    const busy = await slowness();
    const before = { descriptors: descriptors(), bytes: residentBytes(server.pid) };
    const id = await start('sleep 60');
    const clients = await listen(`/v1/executions/${id}/events`, listeners);
    expect(clients.answers).toEqual({ 200: listeners });
    const each = (residentBytes(server.pid) - before.bytes) / listeners;
    const times = Object.values(await probes(2000)).flatMap(({ latencies }) => latencies);
    const quick = await server.run('probe-bash', { env: { PROBE: 'echo still here' } });
    expect(quick.status).toBe('success');

    const gone = performance.now();
    clients.process.kill('SIGKILL');
    expect(await until(() => descriptors() < before.descriptors + 50, 10_000 * busy)).toBe(true);
    const forgotten = performance.now() - gone;
    await server.json(`/v1/executions/${id}/cancel`, { method: 'POST' });
    await nothingLeft(before.descriptors);
    for (let count = 0; count < 4; count += 1) {
      server.signal('SIGUSR2');
      await delay(150);
    }
    const kept = residentBytes(server.pid) - before.bytes;
    console.log(
      `${listeners} listeners: ${(each / 1024).toFixed(1)} KiB each; probes p50 ${percentile(times, 0.5).toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms; ` +
        `all forgotten ${Math.round(forgotten)} ms after they vanished; ${(kept / 2 ** 20).toFixed(0)} MiB kept; machine ${busy.toFixed(1)} times slower than alone`,
    );
    expect(percentile(times, 0.99)).toBeLessThan(100 * busy);
    expect(each).toBeLessThan(64 * 1024);
    // Of what they held next to nothing stays; the allocator keeps some for the next.
    expect(kept).toBeLessThan(Math.max(64 * 2 ** 20, each * listeners * 0.5));
  });

  it('hear how it ends, every one', { timeout: 60_000 }, async () => {
    const number = Math.min(1000, listeners);
    const id = await start('sleep 60');
    const before = descriptors();
    const clients = await listen(`/v1/executions/${id}/events`, number);
    expect(clients.answers).toEqual({ 200: number });
    await server.json(`/v1/executions/${id}/cancel`, { method: 'POST' });
    // The stream of each has ended, and its connection is idle or closed; with its client it is gone.
    clients.process.kill('SIGKILL');
    await nothingLeft(before);
  });
});

describe('half a request', () => {
  it('slow senders, slow readers and half-open connections are ended, and others do not notice', { timeout: 60_000 }, async () => {
    const busy = await slowness();
    await server.run('probe-bash', { env: { PROBE: 'head -c 20000000 /dev/zero > $SANDBOX_FILES_DIR/big' } });
    const { items } = (await server.json<{ items: Execution[] }>('/v1/executions?limit=1')).body;
    const before = descriptors();
    const sockets: Socket[] = [];
    for (let count = 0; count < 100; count += 1) {
      // One byte of a body, then nothing; a head that never ends; nothing at all; a download that nobody reads.
      sockets.push(say(`${head('POST /v1/executions HTTP/1.1', 'Content-Length: 1000', 'Content-Type: application/json')}{`));
      sockets.push(say('GET /v1/exec'));
      sockets.push(say(''));
      // The kernel takes megabytes of each of these before the box has to wait: a hundred at once would be a load of their own.
      if (count % 4 === 0) sockets.push(say(head(`GET /v1/executions/${items[0]?.execution_id}/files/big HTTP/1.1`)).pause());
    }
    const times = Object.values(await probes(1500)).flatMap(({ latencies }) => latencies);
    expect((await server.run('probe-bash', { env: { PROBE: 'echo quick' } })).logs).toBe('quick\n');
    // Those with half a head and with none have Node's time for heads; the others ours.
    expect(await until(() => descriptors() <= before + 210, 15 * bodyTimeoutMs), `${descriptors()} descriptors`).toBe(true);
    for (const socket of sockets) socket.destroy();
    console.log(`probes p99 ${percentile(times, 0.99).toFixed(1)} ms beside ${sockets.length} half-open connections`);
    expect(percentile(times, 0.99)).toBeLessThan(100 * busy);
    await nothingLeft(before);
  });

  it('giant heads and bodies are refused while they come, and hold no memory', { timeout: 60_000 }, async () => {
    const before = { descriptors: descriptors(), bytes: residentBytes(server.pid) };
    const statuses: Record<string, number> = {};
    const answer = (socket: Socket): Promise<void> =>
      new Promise((resolve) => {
        let done = false;
        const count = (what: string): void => {
          if (done) return;
          done = true;
          statuses[what] = (statuses[what] ?? 0) + 1;
          socket.destroy();
          resolve();
        };
        socket.once('data', (chunk: Buffer) => count(chunk.toString('latin1').split(' ')[1] ?? ''));
        socket.once('close', () => count('closed'));
      });
    const round = async (): Promise<number> => {
      const giantHead = `GET /livez HTTP/1.1\r\nHost: box\r\nX-Giant: ${'a'.repeat(64 * 1024)}\r\n\r\n`;
      const announced = head('POST /v1/executions HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 10000000000');
      await Promise.all([
        ...Array.from({ length: 50 }, () => answer(say(giantHead))),
        ...Array.from({ length: 50 }, () => answer(say(announced + ' '.repeat(64 * 1024)))),
      ]);
      // More than is allowed, and not announced: 40 at once of 20 MiB each.
      const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
      await Promise.all(
        Array.from({ length: 40 }, async () => {
          const socket = say(head('POST /v1/executions HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked'));
          const answered = answer(socket);
          for (let count = 0; count < 320 && !socket.destroyed; count += 1)
            if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => undefined), answered]);
          await answered;
        }),
      );
      await until(() => descriptors() <= before.descriptors + 1, 5000);
      server.signal('SIGUSR2');
      await delay(500);
      return residentBytes(server.pid);
    };
    // What the allocator keeps for the next time it keeps once.
    const first = await round();
    const kept = (await round()) - first;
    console.log(
      `giants: ${JSON.stringify(statuses)}; ${((first - before.bytes) / 2 ** 20).toFixed(0)} MiB kept by the first round, ${(kept / 2 ** 20).toFixed(0)} MiB by the second`,
    );
    // Who goes on sending long after the refusal is cut off, and may lose the answer with it; who gets no turn to send is too late (408).
    expect(Object.keys(statuses).filter((status) => !['408', '413', '431', '429', '503', 'closed'].includes(status))).toEqual([]);
    expect(statuses[431]).toBe(100);
    expect(statuses.closed ?? 0).toBeLessThan(80);
    expect(first - before.bytes).toBeLessThan(400 * 2 ** 20);
    expect(kept).toBeLessThan(64 * 2 ** 20);
    await nothingLeft(before.descriptors);
  });
});

it('clients that vanish in the middle of a run, or in the queue, leave no run and no place', { timeout: 60_000 }, async () => {
  const before = descriptors();
  const body = JSON.stringify({ skill: 'probe-bash', env: { PROBE: 'sleep 1' } });
  const post = head('POST /v1/executions HTTP/1.1', 'Content-Type: application/json', `Content-Length: ${body.length}`) + body;
  const sockets = Array.from({ length: 60 }, () => say(post));
  const queued = async (): Promise<number> =>
    Number(/^skillbox_executions_queued (\d+)$/m.exec(await (await server.request('/metrics')).text())?.[1]);
  expect(await until(async () => (await queued()) >= 40, 10_000)).toBe(true);
  for (const socket of sockets) socket.destroy();
  const started = performance.now();
  // Those that ran go on to their end; those that waited would take a quarter of a minute if somebody still wanted them.
  expect(await until(async () => (await queued()) === 0, 3000)).toBe(true);
  console.log(`the queue was empty ${Math.round(performance.now() - started)} ms after its callers had gone`);
  await until(async () => (await server.json<{ items: unknown[] }>('/v1/executions?status=running')).body.items.length === 0, 10_000);
  const { items } = (await server.json<{ items: Execution[] }>('/v1/executions?limit=100&status=cancelled')).body;
  expect(items.length).toBeGreaterThanOrEqual(40);
  await nothingLeft(before);
});

/** A process with that many event streams. */
async function listen(path: string, number: number): Promise<{ process: ChildProcess; answers: Record<string, number> }> {
  const program = join(import.meta.dirname, 'clients', 'listeners.mjs');
  const options = { url: server.url, path, key: server.key, number, holdMs: 60_000 };
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout as Readable, 'data')) as [Buffer];
  return { process: child, answers: JSON.parse(line.toString()) as Record<string, number> };
}
