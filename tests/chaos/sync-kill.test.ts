/** A sync that is killed in the midst of its work: what is in place is whole, and the next one brings the rest. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GraphGround, newGround } from '../support/graph.ts';
import { commitFiles, everyKind } from '../support/synced.ts';

let ground: GraphGround;
let program: string | undefined;
beforeEach(() => {
  ground = newGround();
});
afterEach(() => {
  ground.remove();
  if (program !== undefined) rmSync(program, { force: true });
});

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
  const bundle = await bundled();
  program = bundle;
  const run = (call = 0) => spawnSync(process.execPath, [bundle, folder, String(call)], { encoding: 'utf8', timeout: 60_000 });
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
    [true, points(fresh, Math.ceil(fresh / 10))],
    [false, points(again, Math.ceil(again / 12))],
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
