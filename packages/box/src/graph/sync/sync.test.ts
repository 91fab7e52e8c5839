import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GraphGround, graph, hostPlace, newGround } from '../../../../../tests/support/graph.ts';
import { commitFiles, everyKind, gitSource, picture, repo } from '../../../../../tests/support/synced.ts';
import type { Graph } from '../graph.ts';
import { recentActivity } from '../runtime-log.ts';
import { fileStates } from './states.ts';
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

it('with nothing changed takes less than a second for 100 items, 30 of them repositories', async () => {
  const all = someGraph(15, 23);
  const { ok } = await syncGraph(ground.runtime, all, { dryRun: false });
  expect(ok).toBe(true);
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
  console.log(`100 items: sync ${times.join(', ')} ms; states ${looks.join(', ')} ms`);
  expect(Math.min(...times)).toBeLessThan(1000);
  expect(Math.min(...looks)).toBeLessThan(1000);
}, 120_000);

/** The program of the child, bundled once; the real code. */
async function bundled(): Promise<string> {
  const outfile = join(resolve('node_modules/.cache'), `killed-sync-${process.pid}.mjs`);
  await build({
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', logLevel: 'error' },
    ...{
      entryPoints: [resolve('tests/support/killed-sync.ts')],
      outfile,
      alias: { '@skillbox/protocol': resolve('packages/protocol/src/index.ts') },
    },
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(resolve('packages/box/src/package-root.ts')).href) },
  });
  return outfile;
}

it('killed at any point leaves nothing half-written in place, and the next one completes', async () => {
  const { folder, stateRoot } = ground;
  const program = await bundled();
  const run = (call = 0) => spawnSync(process.execPath, [program, folder, String(call)], { encoding: 'utf8', timeout: 60_000 });
  const versions = { 'a.txt': new Set<string>(), env: new Set<string>(), skill: new Set<string>() };
  const places: [keyof typeof versions, string][] = [
    ['a.txt', join(stateRoot, 'workspace/repos/0/a.txt')],
    ['a.txt', join(folder, 'trees/0/a.txt')],
    ['env', join(stateRoot, 'workspace/env/0.env')],
    ['skill', join(stateRoot, 'home/.claude/skills/s/SKILL.md')],
  ];
  const change = (turn: number): void => {
    const text = `${turn} `.repeat(2000 + turn);
    versions['a.txt'].add(text);
    versions.env.add(`A=${text}`);
    versions.skill.add(`---\nname: s\n---\n${text}`);
    everyKind(folder, stateRoot, 1, 1);
    commitFiles(join(folder, 'remote'), { 'a.txt': text, 'skills/s/SKILL.md': `---\nname: s\n---\n${text}` });
    writeFileSync(join(folder, 'source.env'), `A=${text}`);
  };
  const completes = (turn: number): void => {
    const { stderr, stdout } = run();
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
    for (const [kind, file] of places) expect(readFileSync(file, 'utf8'), `${kind} after turn ${turn}`).toBe([...versions[kind]].at(-1));
    const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => /\.skillbox-(new|old)$|\.lock$|forwards\/./.test(name) && !name.endsWith('skill-repos.lock'),
    );
    expect(left).toEqual([]);
  };
  const forget = (): void => {
    for (const name of ['.skillbox-state', 'trees', 'skill-repos.lock.json']) rmSync(join(folder, name), { recursive: true, force: true });
  };
  change(0);
  const fresh = JSON.parse(run().stdout).calls as number;
  change(1);
  const again = JSON.parse(run().stdout).calls as number;
  expect(fresh).toBeGreaterThan(50);
  expect(again).toBeGreaterThan(30);
  const points = (count: number, step: number): number[] => Array.from({ length: Math.ceil(count / step) }, (_, index) => 1 + index * step);
  let turn = 2;
  for (const [isFresh, calls] of [
    [true, points(fresh, Math.ceil(fresh / 14))],
    [false, points(again, Math.ceil(again / 14))],
  ] as const) {
    for (const call of calls) {
      if (isFresh) forget();
      change(turn);
      expect(run(call).signal).toBe('SIGKILL');
      // Each is one of its whole versions, or not there. What git was in the midst of, the next sync brings to its end.
      for (const [kind, file] of places)
        if (kind !== 'a.txt' && existsSync(file))
          expect(versions[kind].has(readFileSync(file, 'utf8')), `${file} at call ${call}`).toBe(true);
      completes(turn);
      turn += 1;
    }
  }
}, 300_000);
