import { rmdirSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { groupParents, sandboxGroups } from '../support/leftovers.ts';
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
  expect(await left(mark)).toEqual([]);
  await removeTraces(server);
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
  expect(await left(mark)).toEqual([]);
  await removeTraces(server);
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

/** Its next start would do this, but there is none. A group is busy until the last of its processes is quite gone. */
async function removeTraces({ host, stateRoot }: ServerProcess): Promise<void> {
  for (const group of [...sandboxGroups(host), ...groupParents(host)]) {
    await eventually(() => tryRemove(group), Boolean);
  }
  rmSync(stateRoot, { recursive: true });
}

function tryRemove(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
    throw error;
  }
}

async function startServer(): Promise<ServerProcess> {
  const server = await startServerProcess();
  await server.push(probeSkill('bash'));
  return server;
}
