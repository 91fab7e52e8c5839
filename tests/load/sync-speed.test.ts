import { expect, it } from 'vitest';
import { fileStates } from '../../packages/box/src/graph/sync/states.ts';
import { syncGraph } from '../../packages/box/src/graph/sync/sync.ts';
import { graph, newGround } from '../support/graph.ts';
import { envFile, everyKind, insidePlace, log, writeDeep } from '../support/synced.ts';
import { slowness } from './crowds.ts';

it('with nothing changed takes less than a second for 100 items, 30 of them repositories', async () => {
  const ground = newGround();
  const all = everyKind(ground.folder, ground.stateRoot, 15, 23);
  const { ok } = await syncGraph(ground.runtime, all, { dryRun: false });
  expect(ok).toBe(true);
  const busy = await slowness();
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const { changed, duration_ms } = await syncGraph(ground.runtime, all, { dryRun: false });
    expect(changed).toBe(false);
    times.push(duration_ms);
  }
  const looks: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const started = performance.now();
    const states = await fileStates(ground.runtime, all);
    looks.push(Math.round(performance.now() - started));
    expect([states.repos, states.artifacts, states.env_files, states.logs].flat().every(({ state }) => state === 'ok')).toBe(true);
  }
  console.log(
    `100 items: sync ${times.join(', ')} ms; states ${looks.join(', ')} ms; the machine is ${busy.toFixed(1)} times slower than alone`,
  );
  expect(Math.min(...times)).toBeLessThan(1000 * busy);
  expect(Math.min(...looks)).toBeLessThan(1000 * busy);
  ground.remove();
}, 120_000);

it('looks at 2,000 files and folders in less than a second', async () => {
  const ground = newGround();
  const source = `${ground.folder}/source.env`;
  writeDeep(source, 'A=1\n');
  const numbers = Array.from({ length: 1000 }, (_, number) => number);
  const all = graph({
    envFiles: numbers.map((n) => envFile(`env-${n}`, insidePlace(ground.stateRoot, `env/${n}.env`), { kind: 'file', path: source })),
    logs: numbers.map((n) => log(`log-${n}`, insidePlace(ground.stateRoot, `logs/${n}`), 7)),
  });
  await syncGraph(ground.runtime, all, { dryRun: false });
  const busy = await slowness();
  const looks: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const started = performance.now();
    const { env_files, logs } = await fileStates(ground.runtime, all);
    looks.push(Math.round(performance.now() - started));
    expect([...env_files, ...logs].every(({ state }) => state === 'ok')).toBe(true);
  }
  console.log(`2,000 items: states ${looks.join(', ')} ms; the machine is ${busy.toFixed(1)} times slower than alone`);
  expect(Math.min(...looks)).toBeLessThan(1000 * busy);
  ground.remove();
}, 120_000);
