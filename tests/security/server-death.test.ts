import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { eventually, guestOf, type HostProcess, hostProcesses } from './inside.ts';

const alive = (mark: string) => hostProcesses(mark).filter(({ pids }) => pids.length > 1);

it('dies with the server, also what has detached itself', async () => {
  const mark = `44.${process.pid}1`;
  const server = await startServer();
  server.run('probe-bash', { env: { PROBE: `setsid nohup sleep ${mark} & (trap "" TERM HUP; sleep ${mark})` } }).catch(() => undefined);
  expect(
    await eventually(
      () => alive(mark),
      (list) => list.length >= 2,
    ),
  ).not.toHaveLength(0);
  await server.kill();
  rmSync(server.stateRoot, { recursive: true });
  expect(await left(mark)).toEqual([]);
});

it('dies with the server even when pid 1 does not notice', async () => {
  const mark = `44.${process.pid}2`;
  const server = await startServer();
  server.run('probe-bash', { env: { PROBE: `sleep ${mark}` } }).catch(() => undefined);
  const [sleeper] = await eventually(
    () => alive(mark),
    (list) => list.length > 0,
  );
  const guest = guestOf(sleeper?.pid ?? 0).pid;
  process.kill(guest, 'SIGSTOP');
  await server.kill();
  rmSync(server.stateRoot, { recursive: true });
  expect(await left(mark)).toEqual([]);
});

/** What should not be there is ended, so that a failure of this test leaves nothing on the machine. */
async function left(mark: string): Promise<HostProcess[]> {
  const found = await eventually(
    () => alive(mark),
    (list) => list.length === 0,
  );
  for (const pid of new Set(found.map((process) => guestOf(process.pid).pid))) process.kill(pid, 'SIGKILL');
  return found;
}

async function startServer(): Promise<ServerProcess> {
  const server = await startServerProcess();
  await server.push(probeSkill('bash'));
  return server;
}
