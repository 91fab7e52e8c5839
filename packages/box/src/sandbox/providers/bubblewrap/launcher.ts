/**
 * Starts launchers, some ahead of need. A launcher that stands by has joined its cgroup and waits on its
 * channel: joining costs a kernel grace period of about ten milliseconds, which no execution should pay.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { OneShot } from '../guest/run-once.ts';
import type { Cgroup, Cgroups } from './cgroup.ts';

export interface Launched {
  readonly process: ChildProcess;
  readonly channel: Duplex;
  readonly cgroup: Cgroup;
  /** What launcher and bubblewrap said, for the log; bounded. */
  diagnostics(): string;
  /** What the parent of a nest says before each run, on a descriptor that no run holds; undefined once it has ended. */
  nextTurn(): Promise<string | undefined>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** Kills what is left, removes the cgroup; false when something would not go. Never rejects. */
  dispose(): Promise<boolean>;
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
  /** What went wrong beside any execution: a cgroup that stays, a launcher that cannot be started ahead. */
  onTrouble(message: string): void;
}

/** After a launcher that stood by has died or could not be started: a host that refuses them must not be kept busy with it. */
const pauseMs = 500;
const refillAfterMs = 10;

export function createLaunchers({ program, cgroups, standby, onTrouble }: LauncherOptions): Launchers {
  const waiting: Launched[] = [];
  const disposals = new Set<Promise<boolean>>();
  let serial = 0;
  let closed = false;
  let refilling: NodeJS.Timeout | undefined;
  let pausing: NodeJS.Timeout | undefined;

  const start = (): Launched => {
    serial += 1;
    const name = `${process.pid}-${serial}`;
    const cgroup = cgroups.create(name);
    const trouble = (what: string): void => onTrouble(`the cgroup of sandbox ${name} could not be removed${what}`);
    try {
      const child = spawn(
        program,
        cgroup.joinFiles.flatMap((file) => ['--cgroup', file]),
        {
          stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
          env: {},
          cwd: '/',
        },
      );
      return wrap(child, cgroup, trouble, disposals);
    } catch (error) {
      // No descriptor or no process left: then there is no child that would take the group with it.
      void removeGroup(cgroup, trouble);
      throw error;
    }
  };

  const startAhead = (): void => {
    const launched = start();
    waiting.push(launched);
    launched.ended.then(() => {
      if (!forget(waiting, launched) || closed) return;
      // Killed from outside while it stood by: its group goes, another takes its place.
      void launched.dispose();
      refillLater();
    });
  };

  // Off the request's path: starting a process holds up the event loop, so that the one who took the last goes first.
  const refill = (): void => {
    if (pausing) return;
    refilling ??= setTimeout(() => {
      refilling = undefined;
      try {
        while (!closed && waiting.length < standby) startAhead();
      } catch (error) {
        // Executions start their own meanwhile, and say so if that fails too.
        onTrouble(`no launcher could be started ahead: ${(error as Error).message}`);
        refillLater();
      }
    }, refillAfterMs);
  };
  const refillLater = (): void => {
    pausing ??= setTimeout(() => {
      pausing = undefined;
      refill();
    }, pauseMs).unref();
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
      clearTimeout(refilling);
      clearTimeout(pausing);
      await Promise.all(waiting.splice(0).map((launched) => launched.dispose()));
      await Promise.all(disposals);
    },
  };
}

function wrap(child: ChildProcess, cgroup: Cgroup, trouble: (what: string) => void, disposals: Set<Promise<boolean>>): Launched {
  const channel = child.stdio[3] as Duplex;
  const said: Buffer[] = [];
  let saidBytes = 0;
  const turns = readTurns();
  child.stderr?.on('data', (chunk: Buffer) => {
    const rest = turns.take(chunk);
    if (saidBytes < 16_384) said.push(rest);
    saidBytes += rest.length;
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
  void ended.then(turns.end);
  let disposal: Promise<boolean> | undefined;
  return {
    process: child,
    channel,
    cgroup,
    ended,
    nextTurn: turns.next,
    diagnostics: () => Buffer.concat(said).toString('utf8').trim(),
    dispose() {
      if (disposal) return disposal;
      const started = dispose(child, channel, cgroup, ended, trouble);
      disposal = started;
      disposals.add(started);
      void started.finally(() => disposals.delete(started));
      return started;
    },
  };
}

async function dispose(
  child: ChildProcess,
  channel: Duplex,
  cgroup: Cgroup,
  ended: Promise<void>,
  trouble: (what: string) => void,
): Promise<boolean> {
  child.kill('SIGKILL');
  await ended;
  channel.destroy();
  return removeGroup(cgroup, trouble);
}

async function removeGroup(cgroup: Cgroup, trouble: (what: string) => void): Promise<boolean> {
  try {
    if (await cgroup.remove()) return true;
    trouble(': something in it would not die');
  } catch (error) {
    trouble(`: ${(error as Error).message}`);
  }
  return false;
}

const turnMark = '\u0006';
const turnPattern = new RegExp(`${turnMark}([0-9a-f]{16})\n`, 'g');
/** More than this is never told ahead of a reader, and a part of one is shorter. */
const mostTurns = 4;

/** Takes what parents of nests say out of what launchers and bubblewrap say. */
function readTurns() {
  const told: string[] = [];
  let part = '';
  let ended = false;
  let wake: (() => void) | undefined;
  return {
    /** The rest. */
    take(chunk: Buffer): Buffer {
      const text = part + chunk.toString('latin1');
      for (const [, turn = ''] of text.matchAll(turnPattern)) if (told.length < mostTurns) told.push(turn);
      const rest = text.replaceAll(turnPattern, '');
      const open = rest.lastIndexOf(turnMark);
      const isPart = open >= 0 && rest.length - open < 18;
      part = isPart ? rest.slice(open) : '';
      if (told.length > 0) wake?.();
      return Buffer.from(isPart ? rest.slice(0, open) : rest, 'latin1');
    },
    end(): void {
      ended = true;
      wake?.();
    },
    async next(): Promise<string | undefined> {
      while (told.length === 0 && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return told.shift();
    },
  };
}

/** What a run sees of it. */
export const oneShotIn = ({ channel, cgroup, diagnostics, ended, process: launcher }: Launched): OneShot => ({
  channel,
  kill: () => void launcher.kill('SIGKILL'),
  ranOutOfMemory: () => cgroup.readOutOfMemoryKills() > 0,
  peakMemory: () => cgroup.readPeakMemory(),
  async gone() {
    await ended;
    return { said: diagnostics(), killed: launcher.signalCode !== null };
  },
});

/** false when it was not there any more. */
function forget<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
  return index >= 0;
}
