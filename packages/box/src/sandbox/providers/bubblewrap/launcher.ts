/**
 * Starts launchers, some ahead of need. A launcher that stands by has joined its cgroup and waits on its
 * channel: joining costs a kernel grace period of about ten milliseconds, which no execution should pay.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { Cgroup, Cgroups } from './cgroup.ts';

export interface Launched {
  readonly process: ChildProcess;
  readonly channel: Duplex;
  readonly cgroup: Cgroup;
  /** What launcher and bubblewrap said, for the log; bounded. */
  diagnostics(): string;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** Kills what is left, removes the cgroup. */
  dispose(): Promise<void>;
}

export interface Launchers {
  take(): Launched;
  readonly ready: number;
  close(): Promise<void>;
}

export interface LauncherOptions {
  readonly program: string;
  readonly cgroups: Cgroups;
  readonly standby: number;
  /** Called when a cgroup could not be removed. */
  onLeak(cgroup: string): void;
}

export function createLaunchers({ program, cgroups, standby, onLeak }: LauncherOptions): Launchers {
  const waiting: Launched[] = [];
  const disposals = new Set<Promise<void>>();
  let serial = 0;
  let closed = false;
  let refilling: NodeJS.Immediate | undefined;

  const start = (): Launched => {
    serial += 1;
    const name = `${process.pid}-${serial}`;
    const cgroup = cgroups.create(name);
    const child = spawn(
      program,
      cgroup.joinFiles.flatMap((file) => ['--cgroup', file]),
      {
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        env: {},
        cwd: '/',
      },
    );
    const launched = wrap(child, cgroup, () => onLeak(name), disposals);
    launched.ended.then(() => forget(waiting, launched));
    return launched;
  };

  // Off the request's path: the next ones are started when the event loop has nothing more urgent.
  const refill = (): void => {
    refilling ??= setImmediate(() => {
      refilling = undefined;
      while (!closed && waiting.length < standby) waiting.push(start());
    });
  };
  if (standby > 0) refill();

  return {
    take() {
      if (closed) throw new BoxError('shutting_down', 'The sandbox provider is closed.');
      const launched = waiting.shift() ?? start();
      if (standby > 0) refill();
      return launched;
    },
    get ready() {
      return waiting.length;
    },
    async close() {
      closed = true;
      if (refilling) clearImmediate(refilling);
      await Promise.all(waiting.splice(0).map((launched) => launched.dispose()));
      await Promise.all(disposals);
    },
  };
}

function wrap(child: ChildProcess, cgroup: Cgroup, leaked: () => void, disposals: Set<Promise<void>>): Launched {
  const channel = child.stdio[3] as Duplex;
  const said: Buffer[] = [];
  let saidBytes = 0;
  child.stderr?.on('data', (chunk: Buffer) => {
    if (saidBytes < 16_384) said.push(chunk);
    saidBytes += chunk.length;
  });
  // A guest that dies while we write gives EPIPE here; the end of the process tells the story.
  channel.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      said.push(Buffer.from(`cannot start the launcher: ${error.message}`));
      channel.destroy();
      resolve();
    });
    child.once('exit', () => resolve());
  });
  let disposal: Promise<void> | undefined;
  return {
    process: child,
    channel,
    cgroup,
    ended,
    diagnostics: () => Buffer.concat(said).toString('utf8').trim(),
    dispose() {
      disposal ??= dispose(child, channel, cgroup, ended, leaked);
      disposals.add(disposal);
      disposal.finally(() => disposals.delete(disposal as Promise<void>));
      return disposal;
    },
  };
}

async function dispose(child: ChildProcess, channel: Duplex, cgroup: Cgroup, ended: Promise<void>, leaked: () => void): Promise<void> {
  child.kill('SIGKILL');
  await ended;
  channel.destroy();
  if (!(await cgroup.remove())) leaked();
}

function forget<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
