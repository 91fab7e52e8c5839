/** What can go wrong with a box, each as the real thing: processes are killed, disks fill up, mounts turn read-only, servers stop. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fillDisk } from '../../support/full-disk.ts';
import { sandboxProcesses, uptime } from '../../support/leftovers.ts';
import { kill, processesOf } from './processes.ts';
import type { Host, World, WorldKind } from './world.ts';

export interface Fault {
  readonly name: string;
  readonly world: WorldKind;
  /** Before the load begins, such as a server with another clock. */
  prepare?(world: World): Promise<void>;
  /** Under load. Resolves when the cause is gone; findings are what was wrong right then. */
  strike(world: World, random: () => number): Promise<readonly string[]>;
  /** After the load. */
  mend?(world: World): Promise<void>;
  /** The log of an operator must say this. */
  readonly says: RegExp;
  /** Retries may have covered it up; the log must speak when it cost an execution. */
  readonly mayPassUnnoticed?: true;
  /** With which codes accepted executions may end for it, beside success. */
  readonly costs: readonly string[];
  /** For which reasons sandboxes that were answered may be gone. */
  readonly takes?: RegExp;
}

const none: readonly string[] = [];
const within = (random: () => number, from: number, to: number): Promise<void> => delay(from + random() * (to - from));
const one = <T>(list: readonly T[], random: () => number): T => list[Math.floor(random() * list.length)] as T;
const only = (world: World): Host => world.hosts[0] as Host;

export const faults: readonly Fault[] = [
  {
    name: 'the server is killed',
    world: 'alone',
    async strike(world) {
      const host = only(world);
      const dead = host.server;
      await host.kill();
      const findings = await processesGone(dead.firstUid, uptime());
      await host.start();
      return findings;
    },
    says: /closed or resumed what a host had left|the box is up/,
    costs: ['interrupted'],
  },
  {
    name: 'processes of sandboxes are killed',
    world: 'alone',
    async strike(world, random) {
      for (let count = 0; count < 12; count += 1) {
        const victims = processesOf(only(world));
        if (victims.length > 0) kill(one(victims, random).pid);
        await within(random, 20, 120);
      }
      return none;
    },
    says: /.?/,
    costs: ['killed_by_signal', 'exit_nonzero', 'sandbox_failed', 'output_invalid'],
  },
  {
    name: 'the disk is full',
    world: 'alone',
    async strike(world, random) {
      const { stateRoot } = only(world);
      const ballast = join(stateRoot, 'ballast');
      fillDisk(ballast);
      await within(random, 600, 1200);
      rmSync(ballast);
      return none;
    },
    says: /no space left|disk is full|database or disk is full|ENOSPC/i,
    costs: ['unavailable', 'interrupted', 'sandbox_failed'],
  },
  {
    name: 'the state root is read-only',
    world: 'alone',
    async strike(world, random) {
      const undo = laidOver(only(world), only(world).stateRoot);
      await within(random, 600, 1200);
      undo();
      return none;
    },
    says: /read-only file system|EROFS/i,
    costs: ['unavailable', 'interrupted', 'sandbox_failed'],
  },
  {
    name: 'the state root is read-only at start',
    world: 'alone',
    async strike(world) {
      const host = only(world);
      await host.kill();
      const mounts = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
      const refusal = await host.start({ wrapper: ['/bin/sh', '-c', mounts, host.stateRoot] }).then(
        () => 'it started',
        (error: Error) => error.message,
      );
      await host.start();
      return /read-only|cannot be (opened|written)/i.test(refusal) ? none : [`a server on a read-only state root: ${refusal}`];
    },
    says: /the box is up/,
    costs: ['interrupted'],
  },
  {
    name: 'the blobs cannot be written',
    world: 'alone',
    async strike(world, random) {
      const undo = laidOver(only(world), join(only(world).stateRoot, 'blobs'));
      await within(random, 600, 1200);
      undo();
      return none;
    },
    says: /blob.*(read-only|cannot be written)/i,
    costs: ['unavailable', 'interrupted'],
  },
  {
    name: 'the clock jumps',
    world: 'alone',
    async prepare(world) {
      const host = only(world);
      setClock(host, '+0');
      await host.stop();
      await host.start({
        env: {
          LD_PRELOAD: fakeTime(),
          FAKETIME_TIMESTAMP_FILE: clockFile(host),
          FAKETIME_CACHE_DURATION: '1',
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
        },
      });
    },
    async strike(world, random) {
      const host = only(world);
      for (const offset of [one(['+3d', '+40d', '+5m'], random), one(['-2h', '-1d', '-30s'], random), '+0']) {
        setClock(host, offset);
        await within(random, 1100, 1500);
      }
      return none;
    },
    async mend(world) {
      const host = only(world);
      await host.stop();
      rmSync(clockFile(host));
      await host.start();
    },
    says: /clock/i,
    costs: ['interrupted'],
    takes: /its time was over/,
  },
  {
    name: 'connections to the database are cut',
    world: 'pair',
    async strike({ postgres }, random) {
      for (let count = 0; count < 6; count += 1) {
        await postgres?.server.cutConnections(postgres.dsn);
        await within(random, 50, 250);
      }
      return none;
    },
    says: /connection to PostgreSQL broke/,
    mayPassUnnoticed: true,
    costs: ['unavailable', 'interrupted'],
  },
  {
    name: 'the database is stopped',
    world: 'pair',
    async strike({ postgres }, random) {
      await postgres?.server.halt();
      await within(random, 300, 1800);
      await postgres?.server.restart();
      return none;
    },
    says: /PostgreSQL cannot be reached|connection to PostgreSQL broke/,
    mayPassUnnoticed: true,
    costs: ['unavailable', 'interrupted'],
  },
  {
    name: 'the database stands still',
    world: 'pair',
    async strike({ postgres }, random) {
      postgres?.server.freeze();
      await within(random, 1000, 3500);
      postgres?.server.thaw();
      return none;
    },
    says: /PostgreSQL did not answer|the database has not answered for a lease/,
    mayPassUnnoticed: true,
    costs: ['unavailable', 'interrupted'],
  },
  {
    name: 'the blob store fails',
    world: 'pair',
    async strike({ s3 }, random) {
      s3?.fail(Number.POSITIVE_INFINITY, random() < 0.5 ? 'status' : 'connection');
      await within(random, 700, 1500);
      s3?.fail(0);
      return none;
    },
    says: /S3/,
    mayPassUnnoticed: true,
    costs: ['unavailable', 'interrupted'],
  },
  {
    name: 'the blob store is slow',
    world: 'pair',
    async strike({ s3 }, random) {
      s3?.slow(500 + random() * 1500);
      await within(random, 1000, 2000);
      s3?.slow(0);
      return none;
    },
    says: /S3/,
    mayPassUnnoticed: true,
    costs: ['unavailable'],
  },
  {
    name: 'one of two hosts is killed',
    world: 'pair',
    async strike(world, random) {
      const host = one(world.hosts, random);
      await host.kill();
      // Sometimes it is back before anybody noticed, sometimes others have closed its work by then.
      await within(random, 0, world.leaseMs * 2);
      await host.start();
      return none;
    },
    says: /a host is gone; closing its work|closed or resumed what a host had left|the box is up/,
    costs: ['interrupted'],
    takes: /its host .* is gone/,
  },
  {
    name: 'one of two hosts sleeps',
    world: 'pair',
    async strike(world, random) {
      const host = one(world.hosts, random);
      host.server.signal('SIGSTOP');
      await within(random, world.leaseMs, world.leaseMs * 2);
      host.server.signal('SIGCONT');
      return none;
    },
    says: /this host was taken for gone|a host is gone; closing its work|lease/,
    costs: ['interrupted'],
    takes: /its host .* is gone/,
  },
];

/** With no server to sweep them. */
async function processesGone(firstUid: number, killedAt: number): Promise<readonly string[]> {
  for (const deadline = Date.now() + 5000; ; await delay(50)) {
    const left = sandboxProcesses(firstUid, killedAt);
    if (left.length === 0) return none;
    if (Date.now() > deadline) return left.map((line) => `outlived the server: ${line}`);
  }
}

/** Read-only, in the mount namespace of this one server. */
function laidOver({ server }: Host, folder: string): () => void {
  const inside = (...command: string[]) => execFileSync('/usr/bin/nsenter', ['--mount', '--target', String(server.pid), ...command]);
  // Read-only before it lies where the server writes: then nobody has anything open on it.
  const aside = mkdtempSync(join(tmpdir(), 'skillbox-aside-'));
  inside('mount', '--bind', folder, aside);
  inside('mount', '-o', 'remount,bind,ro', aside);
  inside('mount', '--move', aside, folder);
  rmdirSync(aside);
  return () => inside('umount', '--lazy', folder);
}

const clockFile = ({ stateRoot }: Host): string => `${stateRoot}.clock`;
const setClock = (host: Host, offset: string): void => writeFileSync(clockFile(host), offset);

function fakeTime(): string {
  const found = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`).find(existsSync);
  if (!found) throw new Error('libfaketime is not installed: scripts/setup.sh test');
  return found;
}
