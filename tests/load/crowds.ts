/** Clients as processes of their own, and how busy the machine is with other things. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The short form is for every change, the long one (`make load`) for releases. */
export const long = process.env.SKILLBOX_LONG === '1';

/** Printed, so that a run can be had again: SKILLBOX_SEED. */
export const seed = Number(process.env.SKILLBOX_SEED ?? Date.now() % 1_000_000);

export interface Ask {
  readonly name: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

export type Found = Record<string, { readonly latencies: number[]; readonly answers: Record<string, number> }>;

/** Asks one after the other, again and again. */
export const ask = (options: { url: string; forMs: number; everyMs: number; asks: readonly Ask[] }): Promise<Found> =>
  client('asker', options);

export interface Crowd {
  readonly answers: Record<string, Record<string, number>>;
  readonly unsent: number;
}

/** Sends so many runs a second, whatever becomes of them. */
export const crowd = (options: {
  url: string;
  forMs: number;
  seed: number;
  most: number;
  tenants: readonly { name: string; key: string; perSecond: number; body: unknown }[];
}): Promise<Crowd> => client('crowd', options, 10);

/** `nice`: a crowd stands for other machines, and must not take the processor from the box that is looked at. */
async function client<T>(name: string, options: unknown, nice = 0): Promise<T> {
  const program = join(import.meta.dirname, 'clients', `${name}.mjs`);
  const { stdout } = await promisify(execFile)('nice', ['-n', String(nice), process.execPath, program, JSON.stringify(options)], {
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout) as T;
}

/**
 * How much longer things take because others use the machine: 1 on one that has nothing else to do. Looked at while the test itself
 * does nothing. Times are held to what was promised, times this.
 */
export async function slowness(): Promise<number> {
  const runnable: number[] = [];
  for (let count = 0; count < 20; count += 1) {
    // The fourth field is `runnable/all`; one of them is this process, which reads it.
    runnable.push(Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[3]?.split('/')[0]) - 1);
    await delay(25);
  }
  const others = runnable.reduce((sum, number) => sum + number, 0) / runnable.length;
  return Math.max(1, (others + 1) / availableParallelism());
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}
