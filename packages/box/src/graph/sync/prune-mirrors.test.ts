import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ActionRecord } from '@skillbox/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type GraphGround, newGround } from '../../../../../tests/support/graph.ts';
import { picture, remoteRepo, writeDeep } from '../../../../../tests/support/synced.ts';
import { loadConfig } from '../../config.ts';
import { recentActivity } from '../runtime-log.ts';
import { mirrorFolder } from './mirrors.ts';
import { sync } from './sync.ts';

let ground: GraphGround;
let urls: Record<'app' | 'extra' | 'other' | 'skills', string>;
beforeEach(() => {
  ground = newGround();
  const made = (name: string) =>
    remoteRepo(join(ground.folder, 'remotes', name), { 'one/SKILL.md': '---\nname: one\ndescription: One.\n---\n' });
  urls = { app: made('app'), extra: made('extra'), other: made('other'), skills: made('skills') };
});
afterEach(() => ground.remove());

const repo = (id: keyof typeof urls, profiles: string[] = []) => ({
  ...{ id, profiles, path: `\${SKILLBOX_REPOS_ROOT}/${id}`, source: { url: urls[id] } },
});
const declare = (graph: Record<string, unknown[]>): void =>
  writeFileSync(join(ground.folder, 'skillbox.yaml'), stringify({ version: 1, graph }));
const overlay = (id: string): string => join(ground.stateRoot, 'clients', id, 'overlay.yaml');
const overlayWith = (id: string, repos: unknown[]): void => writeDeep(overlay(id), stringify({ version: 1, client: { id, repos } }));

async function synced(more: { client?: string; profiles?: string[]; dryRun?: boolean } = {}): Promise<ActionRecord[]> {
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  const { actions } = await sync(
    { ...ground.runtime, config },
    { client: more.client, profiles: more.profiles ?? [] },
    { dryRun: more.dryRun ?? false },
  );
  return actions.filter(({ action }) => action === 'prune');
}
const mirrors = (): string[] =>
  readdirSync(mirrorFolder(ground.stateRoot))
    .map((name) => name.replace(/-[0-9a-f]{16}\.git$/, ''))
    .sort();

it('what nothing refers to any more goes, with a record of it; a dry run only says so', async () => {
  declare({ repos: [repo('app'), repo('extra')] });
  expect(await synced()).toEqual([]);
  declare({ repos: [repo('app')] });
  const before = picture(ground.folder);
  expect(await synced({ dryRun: true })).toMatchObject([{ id: 'mirrors', result: 'planned', path: expect.stringContaining('extra-') }]);
  expect(picture(ground.folder)).toEqual(before);
  expect(await synced()).toMatchObject([{ id: 'mirrors', result: 'done', detail: 'no repository or skill repo refers to it any more' }]);
  expect(mirrors()).toEqual(['app']);
  expect(existsSync(join(ground.stateRoot, 'workspace/repos/extra/one/SKILL.md'))).toBe(true);
  expect(recentActivity(ground.stateRoot, 10)).toContainEqual(expect.objectContaining({ type: 'sync.prune', subject: 'repos:mirrors' }));
  expect(await synced()).toEqual([]);
});

it('what another profile, another client or a skill repo refers to stays, until that is gone too', async () => {
  declare({ repos: [repo('app'), repo('extra', ['surfaces'])], skills: [{ id: 'mine' }] });
  writeFileSync(join(ground.folder, 'skill-repos.yaml'), `version: 2\nskill_repos:\n  - {repo: "${urls.skills}", ref: main}\n`);
  overlayWith('acme', [repo('other')]);
  await synced({ client: 'acme', profiles: ['surfaces'] });
  expect(mirrors()).toEqual(['app', 'extra', 'other', 'skills']);
  expect(await synced()).toEqual([]);
  expect(mirrors()).toEqual(['app', 'extra', 'other', 'skills']);
  rmSync(overlay('acme'));
  writeFileSync(join(ground.folder, 'skill-repos.yaml'), 'version: 2\nskill_repos: []\n');
  expect(await synced()).toHaveLength(2);
  expect(mirrors()).toEqual(['app', 'extra']);
});

it('nothing goes while somebody cannot be asked: an overlay or a skill file that is broken', async () => {
  declare({ repos: [repo('app'), repo('extra')], skills: [{ id: 'mine' }] });
  const skills = join(ground.folder, 'skill-repos.yaml');
  writeFileSync(skills, 'version: 2\nskill_repos: []\n');
  await synced();
  declare({ repos: [repo('app')], skills: [{ id: 'mine' }] });
  writeDeep(overlay('acme'), 'version: 1\nclient: {id: acme, repos: 7}\n');
  expect(await synced()).toEqual([]);
  rmSync(overlay('acme'));
  writeFileSync(skills, 'version: 1\n');
  expect(await synced()).toEqual([]);
  expect(mirrors()).toEqual(['app', 'extra']);
  writeFileSync(skills, 'version: 2\nskill_repos: []\n');
  expect(await synced()).toHaveLength(1);
});

it('what a killed process left of one goes, what a living one makes stays, and so does what is no copy', async () => {
  declare({ repos: [repo('app')] });
  await synced();
  const folder = mirrorFolder(ground.stateRoot);
  const left = `.x-0123456789abcdef.git.${2 ** 22 + 1}.skillbox-new`;
  const made = `.x-0123456789abcdef.git.${process.pid}.skillbox-new`;
  for (const name of [left, made, 'notes']) mkdirSync(join(folder, name));
  expect(await synced()).toMatchObject([{ path: join(folder, left), detail: 'left by a sync that was killed' }]);
  expect(
    readdirSync(folder)
      .filter((name) => !name.startsWith('app-'))
      .sort(),
  ).toEqual([made, 'notes']);
});
