/** Measuring several things in turns, so that whatever else the machine does hits all of them alike. */

import { setTimeout as delay } from 'node:timers/promises';
import { seeded } from './samples.ts';

export interface Turn {
  run(): Promise<unknown>;
  /** After it, off the clock: throws unless the run did its work, or puts away what it made. */
  check?(): unknown;
  /** Takes part in every so many rounds only: for what is slow. */
  readonly every?: number;
}

export interface TurnsOptions {
  readonly rounds: number;
  /** Rounds before them that are not counted. */
  readonly warmUp?: number;
  /** After each turn. What a box makes ready ahead is made in such pauses, as between real callers. */
  readonly pauseMs?: number;
  /** Fewer rounds, but no fewer than a third, when they take longer than this. */
  readonly withinMs?: number;
}

/** The order within each round is drawn anew, so that nobody always comes after the same neighbour. */
export async function inTurns<K extends string>(
  turns: Record<K, Turn>,
  { rounds, warmUp = 3, pauseMs = 50, withinMs = Number.POSITIVE_INFINITY }: TurnsOptions,
): Promise<Record<K, number[]>> {
  const names = Object.keys(turns) as K[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>;
  const random = seeded(rounds);
  const deadline = performance.now() + withinMs;
  for (let round = -warmUp; round < rounds; round += 1) {
    if (round >= rounds / 3 && performance.now() > deadline) break;
    for (const name of shuffled(names, random)) {
      const { run, check, every = 1 } = turns[name];
      if (round >= 0 ? round % every !== 0 : round < -1 && every > 1) continue;
      const started = performance.now();
      await run();
      const took = performance.now() - started;
      if (round >= 0) samples[name].push(took);
      await check?.();
      await delay(pauseMs);
    }
  }
  return samples;
}

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const drawn = [...items];
  for (let index = drawn.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [drawn[index], drawn[other]] = [drawn[other] as T, drawn[index] as T];
  }
  return drawn;
}
