/** A tree that the workspace can write has whatever configuration the workspace likes: nothing of it may run on the host. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Repo } from '../../packages/box/src/graph/graph.ts';
import { insideOwner } from '../../packages/box/src/graph/inside-owner.ts';
import { syncRepos } from '../../packages/box/src/graph/sync/repos.ts';
import { fileStates } from '../../packages/box/src/graph/sync/states.ts';
import { treeStates } from '../../packages/box/src/graph/sync/trees.ts';
import { type GraphGround, graph, newGround } from '../support/graph.ts';
import { commitFiles, gitSource, insidePlace, remoteRepo, repo, told } from '../support/synced.ts';

let ground: GraphGround;
let remote: string;
let app: Repo;
let marks: string;

beforeEach(async () => {
  ground = newGround();
  remote = join(ground.folder, 'remote');
  marks = join(ground.folder, 'marks');
  mkdirSync(marks);
  chmodSync(marks, 0o777);
  chmodSync(ground.folder, 0o755);
  const url = remoteRepo(remote, { 'a.txt': 'one\n', 'b.bin': 'one\n', '.gitattributes': '* filter=evil diff=evil merge=evil\n' });
  app = repo('app', insidePlace(ground.stateRoot, 'repos/app'), gitSource(url));
  expect(told(await syncRepos({ runtime: ground.runtime, dryRun: false }, [app]))).toEqual(['app clone done']);
});
afterEach(() => ground.remove());

/** Leaves a mark on the host if it ever runs there, and one in the tree wherever it runs. */
const evil = (name: string): string => `"sh -c 'touch ${marks}/${name}; touch .git/ran-${name}; cat' --"`;

function plantEverything(): void {
  const tree = app.place.hostPath;
  const more = join(tree, '.git', 'more.config');
  writeFileSync(
    join(tree, '.git', 'config'),
    `${readFileSync(join(tree, '.git', 'config'), 'utf8')}
[core]
  fsmonitor = ${evil('fsmonitor')}
  hooksPath = .git/hooks
  sshCommand = ${evil('ssh')}
  pager = ${evil('pager')}
  editor = ${evil('editor')}
  askPass = ${evil('askpass')}
  alternateRefsCommand = ${evil('refs')}
[filter "evil"]
  clean = ${evil('clean')}
  smudge = ${evil('smudge')}
  process = ${evil('process')}
  required = false
[diff "evil"]
  textconv = ${evil('textconv')}
  command = ${evil('diff')}
[merge "evil"]
  driver = ${evil('merge')}
[gpg]
  program = ${evil('gpg')}
[uploadpack]
  packObjectsHook = ${evil('pack')}
[include]
  path = more.config
[alias]
  status = "!touch ${marks}/alias"
  fetch = "!touch ${marks}/alias"
  merge = "!touch ${marks}/alias"
`,
  );
  writeFileSync(more, `[core]\n  fsmonitor = ${evil('included')}\n[credential]\n  helper = "!touch ${marks}/credential"\n`);
  mkdirSync(join(tree, '.git', 'hooks'), { recursive: true });
  for (const hook of [
    'post-checkout',
    'post-merge',
    'pre-merge-commit',
    'reference-transaction',
    'post-index-change',
    'fsmonitor-watchman',
    'pre-auto-gc',
  ]) {
    writeFileSync(join(tree, '.git', 'hooks', hook), `#!/bin/sh\ntouch ${marks}/hook-${hook}\ntouch "$PWD/.git/ran-${hook}"\n`);
    chmodSync(join(tree, '.git', 'hooks', hook), 0o755);
  }
  const owner = insideOwner();
  if (owner) for (const file of ['config', 'more.config']) chownSync(join(tree, '.git', file), owner.uid, owner.gid);
}

it('runs nothing of it on the host: not to look, not to fetch, not to bring it forward', async () => {
  plantEverything();
  // Makes git look into the files, and so into the filters.
  writeFileSync(join(app.place.hostPath, 'a.txt'), 'two\n');
  await fileStates(ground.runtime, graph({ repos: [app] }));
  commitFiles(remote, { 'b.bin': 'two\n' });
  await syncRepos({ runtime: ground.runtime, dryRun: false }, [app]);
  writeFileSync(join(app.place.hostPath, 'a.txt'), 'one\n');
  await syncRepos({ runtime: ground.runtime, dryRun: false }, [app]);
  await syncRepos({ runtime: ground.runtime, dryRun: true }, [app]);
  expect(readdirSync(marks)).toEqual([]);
  // It was worth the jail: filters did run, in there.
  expect(readdirSync(join(app.place.hostPath, '.git')).filter((name) => name.startsWith('ran-'))).not.toEqual([]);
});

it('follows no link in the place of the tree, of .git or of what leads there', async () => {
  const outside = join(ground.folder, 'outside');
  remoteRepo(outside);
  const tree = app.place.hostPath;
  const aside = `${tree}-aside`;
  const states = () => treeStates([app.place], ground.runtime);
  renameSync(tree, aside);
  symlinkSync(outside, tree);
  expect(await states()).toEqual([undefined]);
  expect((await syncRepos({ runtime: ground.runtime, dryRun: false }, [app]))[0]).toMatchObject({ result: 'failed' });
  expect(lstatSync(tree).isSymbolicLink()).toBe(true);
  rmSync(tree);
  renameSync(aside, tree);
  rmSync(join(tree, '.git'), { recursive: true });
  symlinkSync(join(outside, '.git'), join(tree, '.git'));
  expect(await states()).toEqual([undefined]);
  writeFileSync(join(tree, 'x'), 'x');
  rmSync(join(tree, '.git'));
  writeFileSync(join(tree, '.git'), `gitdir: ${join(outside, '.git')}\n`);
  expect(await states()).toEqual([undefined]);
  expect(readdirSync(outside).sort()).toEqual(['.git', 'README.md']);
});

it('gives up on a tree that makes git wait, and still answers for the others', async () => {
  const other = repo('other', insidePlace(ground.stateRoot, 'repos/other'), app.source);
  await syncRepos({ runtime: ground.runtime, dryRun: false }, [other]);
  rmSync(join(app.place.hostPath, '.git', 'config'));
  execFileSync('mkfifo', [join(app.place.hostPath, '.git', 'config')]);
  const quick = { signal: ground.runtime.signal, patience: 1 };
  const states = await treeStates([app.place, other.place], quick);
  expect(states[0]).toBeUndefined();
  expect(states[1]).toMatchObject({ branch: 'main', dirty: 0 });
  expect(existsSync(other.place.hostPath)).toBe(true);
});

it('looks at a box full of trees that make git wait, within seconds, and says which timed out', async () => {
  const other = repo('other', insidePlace(ground.stateRoot, 'repos/other'), app.source);
  const hostile = Array.from({ length: 14 }, (_, n) => repo(`slow-${n}`, insidePlace(ground.stateRoot, `repos/slow-${n}`), app.source));
  await syncRepos({ runtime: ground.runtime, dryRun: false }, [other]);
  for (const { place } of hostile) {
    execFileSync('cp', ['-a', other.place.hostPath, place.hostPath]);
    rmSync(join(place.hostPath, '.git', 'config'));
    execFileSync('mkfifo', [join(place.hostPath, '.git', 'config')]);
  }
  const since = performance.now();
  const { repos } = await fileStates(ground.runtime, graph({ repos: [...hostile.slice(0, 7), other, ...hostile.slice(7)] }));
  // One after the other they would have held it up for minutes.
  expect(performance.now() - since).toBeLessThan(15_000);
  for (const { id, state, detail } of repos)
    expect({ id, state, detail }).toEqual(
      id === 'other' ? { id, state: 'ok', detail: null } : { id, state: 'unknown', detail: 'timed out' },
    );
});
