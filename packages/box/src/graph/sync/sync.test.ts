import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GraphGround, graph, hostPlace, newGround } from '../../../../../tests/support/graph.ts';
import { everyKind, gitSource, picture, repo } from '../../../../../tests/support/synced.ts';
import type { Graph } from '../graph.ts';
import { recentActivity } from '../runtime-log.ts';
import { syncGraph } from './sync.ts';

let ground: GraphGround;
beforeEach(() => {
  ground = newGround();
});
afterEach(() => ground.remove());

const someGraph = (repos: number, others: number): Graph => everyKind(ground.folder, ground.stateRoot, repos, others);

it('does everything once, says so, and the second time does nothing', async () => {
  const all = someGraph(1, 1);
  const before = picture(ground.folder);
  const planned = await syncGraph(ground.runtime, all, { dryRun: true });
  expect(planned).toMatchObject({ dry_run: true, changed: false, ok: true });
  expect(planned.actions.some(({ result }) => result === 'planned')).toBe(true);
  expect(picture(ground.folder)).toEqual(before);

  const first = await syncGraph(ground.runtime, all, { dryRun: false });
  expect(first.actions.filter(({ result }) => result === 'failed')).toEqual([]);
  expect(first).toMatchObject({ dry_run: false, changed: true, ok: true });
  const activity = recentActivity(ground.stateRoot, 100).map(({ subject, type }) => `${type} ${subject}`);
  expect(activity).toEqual(
    expect.arrayContaining([
      'sync.clone repos:host-0',
      'sync.copy artifacts:artifact-0',
      'sync.write env_files:env-0',
      'sync.mkdir logs:log-0',
      'sync.install skills:skills',
    ]),
  );

  const second = await syncGraph(ground.runtime, all, { dryRun: false });
  expect(second).toMatchObject({ changed: false, ok: true });
  expect(second.actions.every(({ result }) => result === 'unchanged')).toBe(true);
  expect(ground.told.at(-1)).toBe('Everything is as declared');
  expect(recentActivity(ground.stateRoot, 100)).toHaveLength(activity.length);
});

it('goes on when one of them fails, and is not ok', async () => {
  const all = someGraph(1, 1);
  const broken = graph({
    ...all,
    repos: [repo('broken', hostPlace(join(ground.folder, 'x')), gitSource(`file://${ground.folder}/nowhere`)), ...all.repos],
  });
  const report = await syncGraph(ground.runtime, broken, { dryRun: false });
  expect(report.ok).toBe(false);
  expect(report.actions.filter(({ result }) => result === 'failed')).toMatchObject([{ id: 'broken', error: { error: 'sync_failed' } }]);
  expect(existsSync(join(ground.stateRoot, 'workspace/repos/0/a.txt'))).toBe(true);
  expect(recentActivity(ground.stateRoot, 100)).toContainEqual(expect.objectContaining({ type: 'sync.failed', subject: 'repos:broken' }));
});
