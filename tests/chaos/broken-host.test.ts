/** The host lets the box down: launchers are killed, bubblewrap is gone, the disk is full. Clear errors, no crash, and back to work. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { fillDisk } from '../support/full-disk.ts';
import { leftoversSettled } from '../support/leftovers.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const standby = 2;
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('SKIPPED: without root nothing can be mounted, so bubblewrap and the disk cannot be taken away.');

let server: ServerProcess | undefined;
let stateRoot = '';
let undo: (() => void) | undefined;

beforeEach(() => {
  stateRoot = newStateRoot();
});
afterEach(async () => {
  if (server?.running) await server.stop();
  undo?.();
  undo = undefined;
  rmSync(stateRoot, { recursive: true, force: true });
});

const run = (box: ServerProcess, probe: string) =>
  box.json<Execution>('/v1/executions', { body: { skill: 'probe-bash', env: { PROBE: probe } } });

describe('launchers that stand by', () => {
  it('are replaced when they are killed, and no execution fails for it', async () => {
    const box = await start();
    await until(() => launchersOf(box).length === standby);
    for (let round = 0; round < 5; round += 1) {
      for (const pid of launchersOf(box)) process.kill(pid, 'SIGKILL');
      // At once: the server cannot have noticed yet.
      const records = await Promise.all([run(box, 'echo hi'), run(box, 'echo hi')]);
      expect(records.map(({ body }) => body)).toMatchObject([
        { status: 'success', logs: 'hi\n' },
        { status: 'success', logs: 'hi\n' },
      ]);
    }
    const killed = launchersOf(box);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await until(() => launchersOf(box).length === standby && !launchersOf(box).some((pid) => killed.includes(pid)));
    expect(await leftoversSettled({ ...box }, { standby })).toEqual([]);
    expect(box.log()).toBe('');
  });
});

describe.skipIf(!isRoot)('bubblewrap', () => {
  it('gone at run time is a clear end of the execution, and its return is all it takes', async () => {
    const box = await start({}, ['/usr/bin/unshare', '--mount', '--propagation', 'private']);
    expect((await run(box, 'echo hi')).body).toMatchObject({ status: 'success' });
    const inside = (...command: string[]) => execFileSync('/usr/bin/nsenter', ['--mount', '--target', String(box.pid), ...command]);
    // Only in the mount namespace of this one server.
    inside('mount', '--bind', '/dev/null', '/usr/bin/bwrap');
    for (let count = 0; count < 3; count += 1) {
      expect(await run(box, 'echo hi')).toMatchObject({
        status: 200,
        body: {
          status: 'failed',
          error: { code: 'sandbox_failed', message: expect.stringMatching(/could not be started: .*\/usr\/bin\/bwrap/) },
        },
      });
    }
    expect((await box.request('/livez')).status).toBe(200);
    inside('umount', '/usr/bin/bwrap');
    expect((await run(box, 'echo hi')).body).toMatchObject({ status: 'success' });
    expect(await leftoversSettled({ ...box }, { standby })).toEqual([]);
  });
});

describe.skipIf(!isRoot)('a full disk', () => {
  it('is said to whoever asks for more, and does not end the server', { timeout: 60_000 }, async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', stateRoot]);
    undo = () => execFileSync('umount', [stateRoot]);
    const box = await start();
    // One that runs while the disk fills: it speaks all the time, and leaves a file.
    const speaking = run(
      box,
      `for i in $(seq 12); do echo tick $i; sleep 0.1; done; head -c 3000000 /dev/urandom > "$SANDBOX_FILES_DIR/big"`,
    );
    await delay(300);
    const ballast = join(stateRoot, 'ballast');
    fillDisk(ballast);
    // It ended, but where should its record go? Who waits is told so, and the record follows when there is room.
    const refused = await speaking;
    expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable', details: { execution_id: expect.any(String) } } });
    expect(refused.headers.get('retry-after')).toBeTruthy();
    const answers = await Promise.all(Array.from({ length: 8 }, () => run(box, `head -c 500000 /dev/urandom > "$SANDBOX_FILES_DIR/f"`)));
    const pushed = await box.push({ ...probeSkill('node'), 'data.txt': 'x'.repeat(3_000_000) });
    for (const { status, body, headers } of [...answers, pushed as (typeof answers)[number]]) {
      if (status === 200) expect(body).toMatchObject({ status: 'failed', error: { code: 'unavailable' } });
      else expect({ status, error: body.error }).toEqual({ status: 503, error: 'unavailable' });
      if (headers) expect(status === 200 || headers.get('retry-after')).toBeTruthy();
    }
    expect((await box.request('/livez')).status).toBe(200);

    rmSync(ballast);
    const { execution_id: id } = (refused.body as unknown as { details: { execution_id: string } }).details;
    expect(await box.ended(id)).toMatchObject({
      ...{ status: 'failed', error: { code: 'unavailable', message: expect.stringMatching(/ENOSPC/) } },
      logs: expect.stringMatching(/^tick 1\n[\s\S]*tick 12\n/),
    });
    expect((await run(box, 'echo hi')).body).toMatchObject({ status: 'success', logs: 'hi\n' });
    expect(await leftoversSettled({ ...box }, { standby })).toEqual([]);
    expect(readdirSync(join(stateRoot, 'blobs/tmp'))).toEqual([]);
  });
});

async function start(env: Record<string, string> = {}, wrapper: readonly string[] = []): Promise<ServerProcess> {
  server = await startServerProcess({ stateRoot, env: { SKILLBOX_STANDBY: String(standby), ...env }, wrapper });
  await server.push(probeSkill('bash'));
  return server;
}

/** Children of the server that still are what was started; one that runs something has become bubblewrap. */
function launchersOf({ pid }: ServerProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.filter((child) => nameOf(child) === 'launch').map(Number);
}

function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // It ended meanwhile.
    return '';
  }
}

async function until(condition: () => boolean, withinMs = 5000): Promise<void> {
  for (const deadline = Date.now() + withinMs; !condition(); await delay(20)) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms`);
  }
}
