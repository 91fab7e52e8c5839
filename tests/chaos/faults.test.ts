/** Every kind of fault at least once, under mixed load; after each the box is whole. `make soak` goes on for as long as you like. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresFolder } from '../support/postgres.ts';
import { faults } from './engine/faults.ts';
import { openStage, type Stage } from './engine/scenario.ts';

const seed = Number(process.env.SKILLBOX_CHAOS_SEED ?? 20_261_116);
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('SKIPPED: without root nothing can be mounted, so disks cannot be taken away.');

describe.each([
  { world: 'alone', title: 'one server', able: isRoot },
  { world: 'pair', title: 'two servers', able: isRoot && postgresFolder() !== undefined },
] as const)(`$title under load, seed ${seed}`, ({ world, able }) => {
  let stage: Stage;
  beforeAll(async () => {
    if (able) stage = await openStage(world, seed);
  });
  afterAll(async () => {
    if (able) expect(await stage.close()).toEqual([]);
  });

  it.skipIf(!able).each(faults.filter((fault) => fault.world === world))('$name', { timeout: 90_000 }, async (fault) => {
    const { ms, ends, findings, log } = await stage.round(fault);
    console.log(`${fault.name}: ${ms} ms, ${JSON.stringify(ends)}`);
    if (findings.length > 0) console.log(log);
    expect(findings).toEqual([]);
  });
});
