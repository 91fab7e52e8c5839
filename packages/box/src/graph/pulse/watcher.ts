/** Hears at once when processes end that are not our children: from the kernel, by a small program, or by looking where the kernel cannot tell. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { packageRoot } from '../../package-root.ts';
import { endingFrom, rememberEnding } from '../../process/endings.ts';
import { isAlive, type ProcessIdentity } from '../../process/identity.ts';

export interface ProcessWatcher {
  /** Exactly these from now on. One that is gone already is told too. */
  watch(processes: readonly ProcessIdentity[]): void;
  /** Whether the kernel tells. */
  readonly told: boolean;
  close(): void;
}

export interface WatcherOptions {
  onGone(process: ProcessIdentity): void;
  /** Why it has to look. */
  onTrouble(why: string): void;
  readonly program?: string;
  readonly lookMs?: number;
}

/** After the program has died; it is somebody's doing, such as the kernel short of memory. */
const againMs = 2000;

type Program = ChildProcessByStdio<Writable, Readable, null>;

export function startWatcher({
  onGone,
  onTrouble,
  program = join(packageRoot(), 'dist', 'native', 'pidwatch'),
  lookMs = 400,
}: WatcherOptions): ProcessWatcher {
  const watched = new Map<string, ProcessIdentity>();
  /** Those the kernel does not tell of. */
  const blind = new Set<string>();
  let child: Program | undefined;
  let told = false;
  let closed = false;
  let again: NodeJS.Timeout | undefined;

  const order = (text: string): void => void (told && child?.stdin.write(text));
  const gone = (key: string): void => {
    const process = watched.get(key);
    if (!process) return;
    watched.delete(key);
    blind.delete(key);
    onGone(process);
  };

  const hear = (line: string): void => {
    const [word = '', pid = '', start = '', how] = line.split(' ');
    if (word === 'ready') {
      told = true;
      for (const process of watched.values()) order(watchOrder(process));
    }
    if (word === 'gone' && how !== undefined) rememberEnding({ pid: Number(pid), startTime: start }, endingFrom(Number(how)));
    if (word === 'gone') gone(`${pid} ${start}`);
    if (word === 'blind') blind.add(`${pid} ${start}`);
    if (word === 'missing') onTrouble(`this kernel does not tell when a process ends (${line.slice('missing '.length)})`);
  };

  const start = (): void => {
    if (!existsSync(program)) {
      onTrouble(`${program} is not there`);
      return;
    }
    const mine = spawn(program, [], { stdio: ['pipe', 'pipe', 'ignore'], env: {} });
    child = mine;
    createInterface({ input: mine.stdout }).on('line', hear);
    let over = false;
    const end = (why: string): void => {
      if (over || closed) return;
      over = true;
      const worked = told;
      told = false;
      child = undefined;
      // One that never worked will not work in a moment either.
      if (!worked) return;
      onTrouble(`the watcher of processes ${why}`);
      again = setTimeout(start, againMs);
      again.unref();
    };
    mine.on('error', (error) => end(`did not start: ${error.message}`));
    mine.on('exit', (code, signal) => end(`ended (${signal ?? code})`));
    // It died between two orders; its exit tells.
    mine.stdin.on('error', () => undefined);
  };

  const look = setInterval(() => {
    for (const key of told ? blind : watched.keys()) {
      const process = watched.get(key);
      if (!process) blind.delete(key);
      else if (!isAlive(process)) gone(key);
    }
  }, lookMs);
  look.unref();
  start();

  return {
    watch(processes) {
      const wanted = new Map(processes.map((process) => [keyOf(process), process]));
      for (const [key, process] of watched) {
        // Of one that ended just now it is yet to be told how.
        if (wanted.has(key) || !isAlive(process)) continue;
        watched.delete(key);
        blind.delete(key);
        order(`forget ${process.pid}\n`);
      }
      for (const [key, process] of wanted) {
        if (watched.has(key)) continue;
        watched.set(key, process);
        order(watchOrder(process));
      }
    },
    get told() {
      return told;
    },
    close() {
      closed = true;
      clearInterval(look);
      clearTimeout(again);
      child?.stdin.end();
      child?.kill();
    },
  };
}

const keyOf = ({ pid, startTime }: ProcessIdentity): string => `${pid} ${startTime}`;
const watchOrder = (process: ProcessIdentity): string => `watch ${keyOf(process)}\n`;
