import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GraphGround, hostPlace, newGround } from '../../../../../tests/support/graph.ts';
import {
  commitFiles,
  git,
  gitSource,
  insidePlace,
  picture,
  remoteRepo,
  repo,
  told,
  writeDeep,
} from '../../../../../tests/support/synced.ts';
import type { Place, Repo } from '../graph.ts';
import { insideOwner } from '../inside-owner.ts';
import { mirrorPath } from './mirrors.ts';
import { syncRepos } from './repos.ts';
import { mendTree, treeStates } from './trees.ts';

let ground: GraphGround;
let remote: string;
let url: string;
const sync = (repos: readonly Repo[], dryRun = false) => syncRepos({ runtime: ground.runtime, dryRun }, repos);
const commitOf = async (place: Place) => (await treeStates([place], ground.runtime))[0]?.commit;

beforeEach(() => {
  ground = newGround();
  remote = join(ground.folder, 'remote');
  url = remoteRepo(remote, { 'README.md': 'one\n', 'src/main.txt': 'one\n' });
});
afterEach(() => ground.remove());

describe.each([
  ['on the host', () => hostPlace(join(ground.folder, 'trees', 'app'))],
  ['inside', () => insidePlace(ground.stateRoot, 'repos/app')],
])('a tree %s', (_, at) => {
  it('is cloned, found in order, and brought forward', async () => {
    const app = repo('app', at(), gitSource(url));
    const before = picture(ground.folder);
    expect(told(await sync([app], true))).toEqual(['app clone planned']);
    expect(picture(ground.folder)).toEqual(before);

    expect(told(await sync([app]))).toEqual(['app clone done']);
    expect(readFileSync(join(app.place.hostPath, 'src/main.txt'), 'utf8')).toBe('one\n');
    if (app.place.inside && insideOwner()) expect(statSync(join(app.place.hostPath, 'src/main.txt')).uid).toBe(insideOwner()?.uid);
    expect(readdirSync(join(app.place.hostPath, '..'))).toEqual(['app']);
    expect(told(await sync([app]))).toEqual(['app fetch unchanged']);

    const next = commitFiles(remote, { 'src/main.txt': 'two\n' });
    const waiting = picture(ground.folder);
    expect(told(await sync([app], true))).toEqual(['app fetch planned']);
    expect(picture(ground.folder)).toEqual(waiting);
    expect(told(await sync([app]))).toEqual(['app fetch done']);
    expect(await commitOf(app.place)).toBe(next);
    expect(readFileSync(join(app.place.hostPath, 'src/main.txt'), 'utf8')).toBe('two\n');
    if (app.place.inside && insideOwner()) expect(statSync(join(app.place.hostPath, 'src/main.txt')).uid).toBe(insideOwner()?.uid);
  });

  it('stays as it is where there are local changes, and says how far behind', async () => {
    const app = repo('app', at(), gitSource(url));
    await sync([app]);
    writeFileSync(join(app.place.hostPath, 'README.md'), 'mine\n');
    commitFiles(remote, { 'README.md': 'theirs\n' });
    const [record] = await sync([app]);
    expect(record).toMatchObject({ action: 'fetch', result: 'skipped', detail: 'local changes in 1 file; 1 commit behind' });
    expect(readFileSync(join(app.place.hostPath, 'README.md'), 'utf8')).toBe('mine\n');
    expect(await treeStates([app.place], ground.runtime)).toMatchObject([{ dirty: 1, behind: 1, branch: 'main' }]);
  });

  it('stays as it is on another branch, and where it has gone another way', async () => {
    const app = repo('app', at(), gitSource(url));
    await sync([app]);
    const tree = app.place.hostPath;
    git(tree, '-c', 'safe.directory=*', 'checkout', '-q', '-b', 'mine');
    commitFiles(remote, { 'new.txt': 'x\n' });
    expect((await sync([app]))[0]).toMatchObject({ result: 'skipped', detail: expect.stringContaining('on branch mine, not on main') });
    git(tree, '-c', 'safe.directory=*', 'checkout', '-q', 'main');
    writeDeep(join(tree, 'own.txt'), 'x');
    git(tree, '-c', 'safe.directory=*', 'add', '-A');
    git(tree, '-c', 'safe.directory=*', 'commit', '-q', '-m', 'own');
    expect((await sync([app]))[0]).toMatchObject({ result: 'skipped', detail: 'has gone another way, 1 commit ahead; 1 commit behind' });
    expect(existsSync(join(tree, 'own.txt'))).toBe(true);
    expect(existsSync(join(tree, 'new.txt'))).toBe(false);
  });

  it('is left alone when something else is there, and when the remote does not answer', async () => {
    const other = repo('other', at(), gitSource(url));
    mkdirSync(other.place.hostPath, { recursive: true });
    writeFileSync(join(other.place.hostPath, 'file'), 'x');
    expect((await sync([other]))[0]).toMatchObject({ action: 'fetch', result: 'failed', error: { error: 'sync_failed' } });
    expect(readdirSync(other.place.hostPath)).toEqual(['file']);
    rmSync(other.place.hostPath, { recursive: true });
    await sync([other]);
    rmSync(remote, { recursive: true });
    expect((await sync([other]))[0]).toMatchObject({
      result: 'skipped',
      error: { error: 'sync_failed', hint: expect.stringContaining('network') },
    });
    rmSync(other.place.hostPath, { recursive: true });
    expect((await sync([other]))[0]).toMatchObject({ action: 'clone', result: 'failed', error: { error: 'sync_failed' } });
    expect(existsSync(other.place.hostPath)).toBe(false);
  });

  it('comes to its end after a crash between two commits, but not over what somebody changed since', async () => {
    const app = repo('app', at(), gitSource(url));
    await sync([app]);
    const tree = app.place.hostPath;
    const from = (await commitOf(app.place)) ?? '';
    const to = commitFiles(remote, { 'README.md': 'two\n', 'src/main.txt': 'a much longer second version\n', 'new.txt': 'new\n' });
    // As a git that was killed leaves it: objects there, one file new, one half written, one gone, the lock in place.
    writeFileSync(join(tree, 'README.md'), 'mine\n');
    await sync([app]);
    const half = (): void => {
      writeFileSync(join(tree, 'README.md'), 'two\n');
      writeFileSync(join(tree, 'src/main.txt'), 'a much lon');
      writeFileSync(join(tree, '.git/index.lock'), '');
    };
    half();
    writeFileSync(join(tree, 'src/main.txt'), 'somebody wrote this since\n');
    expect(await mendTree(app.place, from, to, ground.runtime)).toBe(false);
    expect(readFileSync(join(tree, 'src/main.txt'), 'utf8')).toBe('somebody wrote this since\n');
    half();
    expect(await mendTree(app.place, from, to, ground.runtime)).toBe(true);
    expect(readFileSync(join(tree, 'src/main.txt'), 'utf8')).toBe('a much longer second version\n');
    expect(await treeStates([app.place], ground.runtime)).toMatchObject([{ dirty: 0, commit: to }]);
    expect(told(await sync([app]))).toEqual(['app fetch unchanged']);
  });
});

it('follows a tag and the default branch, and says when there is no such branch', async () => {
  git(remote, 'tag', '-a', '-m', 'first', 'v1');
  const tagged = repo('tagged', hostPlace(join(ground.folder, 't')), gitSource(url, 'v1'));
  const whole = repo('whole', hostPlace(join(ground.folder, 'd')), { kind: 'git', url, branch: undefined });
  const wrong = repo('wrong', hostPlace(join(ground.folder, 'w')), gitSource(url, 'nowhere'));
  commitFiles(remote, { 'README.md': 'two\n' });
  const records = await sync([tagged, whole, wrong]);
  expect(told(records)).toEqual(['tagged clone done', 'whole clone done', 'wrong clone failed']);
  expect(records[2]?.error?.message).toContain('no branch or tag nowhere');
  expect(readFileSync(join(ground.folder, 't', 'README.md'), 'utf8')).toBe('one\n');
  expect(readFileSync(join(ground.folder, 'd', 'README.md'), 'utf8')).toBe('two\n');
  expect(told(await sync([tagged, whole]))).toEqual(['tagged fetch unchanged', 'whole fetch unchanged']);
});

it('keeps passwords of addresses out of trees and records', async () => {
  const secret = `http://me:hunter2@127.0.0.1:9/app.git`;
  const [record] = await sync([repo('app', hostPlace(join(ground.folder, 'x')), gitSource(secret))]);
  expect(record?.result).toBe('failed');
  expect(JSON.stringify(record)).not.toContain('hunter2');
});

it.each(['ext::sh -c touch% /tmp/owned', '--upload-pack=touch /tmp/owned', 'fd::17', '-oProxyCommand=x@y:z'])(
  'refuses the address %s',
  async (bad) => {
    const [record] = await sync([repo('bad', hostPlace(join(ground.folder, 'bad')), gitSource(bad))]);
    expect(record).toMatchObject({ result: 'failed', error: { error: 'sync_failed' } });
    expect(existsSync(join(ground.folder, 'bad'))).toBe(false);
  },
);

it('fetches from no repository that the workspace can write', async () => {
  const planted = join(ground.stateRoot, 'workspace', 'planted');
  remoteRepo(planted);
  const [record] = await sync([repo('planted', hostPlace(join(ground.folder, 'x')), gitSource(`file://${planted}`))]);
  expect(record).toMatchObject({ result: 'failed', error: { message: expect.stringContaining('state of the box') } });
});

it('makes folders, and only looks for what others bring', async () => {
  const made = repo('made', insidePlace(ground.stateRoot, 'repos'), { kind: 'directory' }, { sync: 'ensure-directory' });
  const bound = repo('bound', hostPlace(join(ground.folder, 'bound')), { kind: 'bind', path: undefined }, { sync: 'external' });
  const manual = repo('manual', hostPlace(join(ground.folder, 'manual')), { kind: 'manual' }, { sync: 'manual', required: true });
  expect(told(await sync([made, bound, manual], true))).toEqual(['made mkdir planned', 'bound check skipped', 'manual check failed']);
  const records = await sync([made, bound, manual]);
  expect(told(records)).toEqual(['made mkdir done', 'bound check skipped', 'manual check failed']);
  expect(records[2]?.error).toMatchObject({ error: 'needs_input', hint: expect.stringContaining(join(ground.folder, 'manual')) });
  mkdirSync(manual.place.hostPath);
  expect(told(await sync([made, manual]))).toEqual(['made mkdir unchanged', 'manual check unchanged']);
});

it('shares one copy of a repository among its trees', async () => {
  const trees = [1, 2, 3].map((number) => repo(`t${number}`, hostPlace(join(ground.folder, `t${number}`)), gitSource(url)));
  expect(told(await sync(trees))).toEqual(['t1 clone done', 't2 clone done', 't3 clone done']);
  expect(readdirSync(join(mirrorPath(ground.stateRoot, url), '..'))).toHaveLength(1);
});

it('clones one that lies in another after it', async () => {
  const outer = repo('outer', insidePlace(ground.stateRoot, 'repos/outer'), gitSource(url));
  const inner = repo('inner', insidePlace(ground.stateRoot, 'repos/outer/vendor/inner'), gitSource(url));
  const folder = repo('folder', insidePlace(ground.stateRoot, 'repos'), { kind: 'directory' }, { sync: 'ensure-directory' });
  expect(told(await sync([inner, outer, folder]))).toEqual(['inner clone done', 'outer clone done', 'folder mkdir done']);
});
