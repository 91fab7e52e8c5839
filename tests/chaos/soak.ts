/** Rounds of load, fault and audit for as long as asked: make soak MINUTES=60 SEED=7, or ROUNDS=50 for so many of each kind. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fault, faults } from './engine/faults.ts';
import { openStage, type Round, type Stage, streamOf } from './engine/scenario.ts';
import type { WorldKind } from './engine/world.ts';

const seed = Number(process.env.SEED || process.env.SKILLBOX_CHAOS_SEED || Math.floor(Math.random() * 2 ** 31));
const laps = Number(process.env.ROUNDS || Number.POSITIVE_INFINITY);
const minutes = Number(process.env.MINUTES || (Number.isFinite(laps) ? Number.POSITIVE_INFINITY : 10));
const only = process.env.FAULT ?? '';
/** A box is stopped in order and begun anew after so many laps: then nothing at all may be left of it. */
const lapsPerBox = 3;
const endsAt = Date.now() + minutes * 60_000;
const logs = mkdtempSync(join(tmpdir(), 'skillbox-soak-'));
const kinds: readonly WorldKind[] = ['alone', 'pair'];

const chosen = faults.filter(({ name }) => name.includes(only));
const tally = new Map<string, { rounds: number; findings: number; ms: number }>(
  chosen.map(({ name }) => [name, { rounds: 0, findings: 0, ms: 0 }]),
);
const ends: Record<string, number> = {};
const answers: Record<string, number> = {};
let rounds = 0;
let findings = 0;

console.log(
  `seed ${seed}; ${Number.isFinite(minutes) ? `${minutes} minutes` : `${laps} of each kind`}; logs of rounds with findings: ${logs}`,
);
for (let lap = 0; lap < laps && Date.now() < endsAt; lap += lapsPerBox) await runBox(lap);
console.log(summary());
process.exit(findings === 0 ? 0 : 1);

/** Both worlds, and a few laps of all faults in an order of the seed's choosing. */
async function runBox(from: number): Promise<void> {
  const stages = new Map<WorldKind, Stage>();
  try {
    for (const kind of kinds) if (chosen.some((fault) => fault.world === kind)) stages.set(kind, await openStage(kind, seed + from));
    for (let lap = from; lap < Math.min(from + lapsPerBox, laps); lap += 1) {
      for (const fault of shuffled(chosen, streamOf(seed, `lap ${lap}`))) {
        if (Date.now() > endsAt) return;
        const stage = stages.get(fault.world);
        if (stage) note(await stage.round(fault));
      }
    }
  } finally {
    for (const stage of stages.values()) {
      for (const [what, count] of stage.answers) answers[what] = (answers[what] ?? 0) + count;
      const left = await stage.close();
      findings += left.length;
      for (const finding of left) console.log(`      ✗ ${finding}`);
    }
  }
}

function note({ fault, ms, ends: ended, findings: found, log }: Round): void {
  rounds += 1;
  findings += found.length;
  const known = tally.get(fault);
  if (known) {
    known.rounds += 1;
    known.findings += found.length;
    known.ms += ms;
  }
  for (const [end, count] of Object.entries(ended)) ends[end] = (ends[end] ?? 0) + count;
  const mark = found.length === 0 ? '✓' : '✗';
  console.log(
    `${String(rounds).padStart(4)}  ${mark} ${fault.padEnd(38)} ${(ms / 1000).toFixed(1).padStart(5)} s  ${JSON.stringify(ended)}`,
  );
  if (found.length === 0) return;
  const file = join(logs, `round-${rounds}.log`);
  writeFileSync(file, log);
  for (const finding of found) console.log(`      ✗ ${finding}`);
  console.log(`      log: ${file}`);
}

function summary(): string {
  const lines = [...tally].map(
    ([name, { rounds: times, findings: found, ms }]) =>
      `  ${name.padEnd(38)} ${String(times).padStart(4)} times  ${(ms / 1000 / Math.max(1, times)).toFixed(1).padStart(5)} s each  ${found} findings`,
  );
  return [
    ...['', `${rounds} rounds, ${findings} findings, seed ${seed}`, ...lines],
    ...['executions by how they ended:', ...listed(ends), 'answers to callers:', ...listed(answers)],
  ].join('\n');
}

function listed(counts: Record<string, number>): string[] {
  return Object.entries(counts)
    .sort()
    .map(([what, count]) => `  ${String(count).padStart(7)} ${what}`);
}

function shuffled(list: readonly Fault[], random: () => number): Fault[] {
  return list
    .map((fault) => ({ fault, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ fault }) => fault);
}
