import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ErrorCode } from '@skillbox/protocol';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type GraphGround, graph, hostPlace, newGround } from '../../../../../../tests/support/graph.ts';
import {
  commitFiles,
  homePlace,
  insidePlace,
  picture,
  remoteRepo,
  skillSet,
  told,
  writeDeep,
} from '../../../../../../tests/support/synced.ts';
import type { SkillSet } from '../../graph.ts';
import { fileStates } from '../states.ts';
import { skillSetStates } from './skill-states.ts';
import { clonePlace } from './sources.ts';
import { syncSkills } from './sync-skills.ts';

let ground: GraphGround;
let set: SkillSet;
let remote: string;
let url: string;
const sync = (dryRun = false, sets = [set]) => syncSkills({ runtime: ground.runtime, dryRun }, sets);
const config = (text: string): void => writeFileSync(set.config.hostPath, text);
const codes = async (records: ReturnType<typeof sync>): Promise<(string | undefined)[]> =>
  (await records).flatMap(({ error }) => (error ? [error.error] : []));
const installed = (home: string, ...path: string[]): string => join(ground.stateRoot, 'home', home, 'skills', ...path);
const skill = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo it.\n`;
const lock = () => JSON.parse(readFileSync(set.lock.hostPath, 'utf8'));

beforeEach(() => {
  ground = newGround();
  remote = join(ground.folder, 'remote');
  url = remoteRepo(remote, {
    'skills/commit/SKILL.md': skill('commit'),
    'skills/commit/scripts/run.sh': 'echo run\n',
    'skills/commit/notes.draft': 'not for agents\n',
    'skills/commit/.skillignore': '*.draft\n',
    'skills/review/SKILL.md': skill('review'),
    'skills/review/tests/a.txt': 'x\n',
    'describe/SKILL.md': skill('describe'),
    '.skillignore': 'skills/*/tests/\n',
    'README.md': 'skills\n',
  });
  set = skillSet('default-skills', {
    config: hostPlace(join(ground.folder, 'skill-repos.yaml')),
    lock: hostPlace(join(ground.folder, 'skill-repos.lock.json')),
    cloneRoot: join(ground.stateRoot, 'skill-repos'),
    targets: [
      { id: 'claude', place: homePlace(ground.stateRoot, '.claude/skills') },
      { id: 'codex', place: homePlace(ground.stateRoot, '.codex/skills') },
    ],
  });
  config(`version: 2\nskill_repos:\n  - repo: ${url}\n    ref: main\n    pick: [commit, review]\n`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  ground.remove();
});

it('installs what is picked into every home, without what is ignored, and locks it', async () => {
  const before = picture(ground.folder);
  expect(told(await sync(true))).toEqual([
    'default-skills install planned',
    'default-skills install planned',
    'default-skills clone planned',
  ]);
  expect(picture(ground.folder)).toEqual(before);

  const records = await sync();
  expect(records.filter(({ result }) => result === 'failed')).toEqual([]);
  for (const home of ['.claude', '.codex']) {
    expect(readdirSync(installed(home)).sort()).toEqual(['commit', 'review']);
    expect(readdirSync(installed(home, 'commit')).sort()).toEqual(['SKILL.md', 'scripts']);
    expect(readdirSync(installed(home, 'review'))).toEqual(['SKILL.md']);
  }
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  expect(lock()).toMatchObject({
    version: 1,
    config_sha: digest(readFileSync(set.config.hostPath, 'utf8')),
    skills: [
      {
        name: 'commit',
        repo: url,
        declared_ref: 'main',
        install_tree_sha: digest(`SKILL.md\0${digest(skill('commit'))}\nscripts/run.sh\0${digest('echo run\n')}\n`),
      },
      { name: 'review', resolved_commit: expect.stringMatching(/^[0-9a-f]{40}$/) },
    ],
  });

  const after = picture(ground.stateRoot);
  const locked = readFileSync(set.lock.hostPath, 'utf8');
  expect(told(await sync())).toEqual(['default-skills fetch unchanged', 'default-skills install unchanged']);
  expect(picture(ground.stateRoot)).toEqual(after);
  expect(readFileSync(set.lock.hostPath, 'utf8')).toBe(locked);
  expect((await fileStates(ground.runtime, graph({ skills: [set] }))).skills[0]).toMatchObject({ state: 'ok', detail: null });
});

it('follows its ref, replaces what was changed by hand, and removes what is declared no more', async () => {
  await sync();
  writeFileSync(installed('.codex', 'commit', 'SKILL.md'), 'changed by hand');
  rmSync(installed('.claude', 'review'), { recursive: true });
  mkdirSync(installed('.claude', 'commit', '__pycache__'));
  expect(skillSetStates(ground.stateRoot, [set])[0]).toMatchObject({
    state: 'missing',
    skills: [
      { name: 'commit', state: 'stale' },
      { name: 'review', state: 'not-installed' },
    ],
    faults: [{ code: 'SKILL_INSTALL_STALE' }, { code: 'SKILL_NOT_INSTALLED' }],
  });
  expect((await sync()).filter(({ result }) => result === 'done').map(({ path }) => path)).toEqual([
    '/home/sandbox/.codex/skills/commit',
    '/home/sandbox/.claude/skills/review',
  ]);
  const next = commitFiles(remote, { 'skills/commit/SKILL.md': skill('commit again') });
  expect(told(await sync()).slice(0, 3)).toEqual([
    'default-skills fetch done',
    'default-skills install done',
    'default-skills install done',
  ]);
  expect(lock().skills[0].resolved_commit).toBe(next);
  expect(readFileSync(installed('.claude', 'commit', 'SKILL.md'), 'utf8')).toContain('commit again');
  config(`version: 2\nskill_repos:\n  - repo: ${url}\n    ref: main\n    pick: [commit]\n`);
  expect(skillSetStates(ground.stateRoot, [set])[0]).toMatchObject({ state: 'stale', faults: [{ code: 'SKILL_INSTALL_STALE' }] });
  expect((await sync()).filter(({ action }) => action === 'remove')).toMatchObject([{ result: 'done' }, { result: 'done' }]);
  expect(readdirSync(installed('.claude'))).toEqual(['commit']);
});

it('clears what one that was killed after its last step left, though nothing else is to be done; a dry run does not', async () => {
  await sync();
  const left = installed('.claude', `.commit.${2 ** 22 + 1}.skillbox-old`);
  const livesOn = installed('.claude', `.commit.${process.ppid}.skillbox-new`);
  for (const folder of [left, livesOn]) mkdirSync(folder);
  await sync(true);
  expect(existsSync(left)).toBe(true);
  expect((await sync()).every(({ result }) => result === 'unchanged')).toBe(true);
  expect([existsSync(left), existsSync(livesOn)]).toEqual([false, true]);
});

it('tells of skills that nothing declares, and leaves them', async () => {
  await sync();
  writeDeep(installed('.claude', 'mine', 'SKILL.md'), skill('mine'));
  const records = await sync();
  expect(records.at(-1)).toMatchObject({ action: 'check', result: 'skipped', detail: 'mine', error: { error: 'SKILL_EXTRA_INSTALLED' } });
  expect(existsSync(installed('.claude', 'mine', 'SKILL.md'))).toBe(true);
  expect(skillSetStates(ground.stateRoot, [set])[0]).toMatchObject({ state: 'ok', faults: [{ code: 'SKILL_EXTRA_INSTALLED' }] });
});

it('leaves a clone with local changes alone, and what was installed of it', async () => {
  await sync();
  const clone = clonePlace(set, { repo: url, ref: 'main' }).hostPath;
  writeFileSync(join(clone, 'skills/commit/SKILL.md'), 'work in progress');
  commitFiles(remote, { 'skills/commit/SKILL.md': skill('newer') });
  const [record] = await sync();
  expect(record).toMatchObject({ action: 'fetch', result: 'skipped', error: { error: 'SKILL_REPO_DIRTY' } });
  expect(readFileSync(installed('.claude', 'commit', 'SKILL.md'), 'utf8')).toBe(skill('commit'));
  expect(readFileSync(join(clone, 'skills/commit/SKILL.md'), 'utf8')).toBe('work in progress');
  expect(lock().skills).toHaveLength(2);
});

it('goes on with the clone there is when the repository does not answer', async () => {
  await sync();
  rmSync(installed('.codex', 'commit'), { recursive: true });
  renameSync(remote, `${remote}-away`);
  const records = await sync();
  expect(told(records)).toEqual(['default-skills fetch skipped', 'default-skills install done']);
  expect(records[0]?.error?.error).toBe('SKILL_REPO_UNREACHABLE');
  expect(existsSync(installed('.codex', 'commit', 'SKILL.md'))).toBe(true);
});

it.each<[string, string, ErrorCode]>([
  ['another version', 'version: 1\nskill_repos: []\n', 'SKILL_CONFIG_INVALID'],
  ['no YAML', 'version: [', 'SKILL_CONFIG_INVALID'],
  ['both kinds', 'version: 2\nskill_repos:\n  - {repo: a/b, ref: main, path: ./x}\n', 'SKILL_CONFIG_INVALID'],
  ['neither kind', 'version: 2\nskill_repos:\n  - {pick: [a]}\n', 'SKILL_CONFIG_INVALID'],
  ['no ref', 'version: 2\nskill_repos:\n  - {repo: a/b}\n', 'SKILL_CONFIG_INVALID'],
  ['an unknown key', 'version: 2\nskill_repos:\n  - {path: ./x, picks: [a]}\n', 'SKILL_CONFIG_INVALID'],
  ['a name that leads out', 'version: 2\nskill_repos:\n  - {path: ./x, pick: [../x]}\n', 'SKILL_CONFIG_INVALID'],
  ['one skill twice', 'version: 2\nskill_repos:\n  - {path: ./x, pick: [a]}\n  - {path: ./y, pick: [a]}\n', 'SKILL_CONFIG_INVALID'],
  ['no such folder', 'version: 2\nskill_repos:\n  - {path: ./nowhere}\n', 'SKILL_CONFIG_INVALID'],
  ['no such repository', 'version: 2\nskill_repos:\n  - {repo: "http://127.0.0.1:9/x.git", ref: main}\n', 'SKILL_REPO_UNREACHABLE'],
])('says what is wrong: %s', async (_, text, code) => {
  config(text);
  expect(await codes(sync())).toEqual([code]);
});

it('says when a ref or a skill is not in the repository, and does the rest', async () => {
  config(
    `version: 2\nskill_repos:\n  - repo: ${url}\n    ref: nowhere\n    pick: [review]\n  - repo: ${url}\n    ref: main\n    pick: [commit, absent]\n`,
  );
  const records = await sync();
  expect(records.flatMap(({ error }) => (error ? [error.error] : [])).sort()).toEqual([
    'SKILL_NOT_FOUND_IN_REPO',
    'SKILL_REPO_CLONE_FAILED',
  ]);
  expect(records.find(({ error }) => error?.error === 'SKILL_NOT_FOUND_IN_REPO')?.error?.message).toContain('commit, describe, review');
  expect(readdirSync(installed('.claude'))).toEqual(['commit']);
});

it('takes no configuration from where the workspace can write', async () => {
  const place = insidePlace(ground.stateRoot, 'skill-repos.yaml');
  writeDeep(place.hostPath, `version: 2\nskill_repos:\n  - {path: ${ground.folder}}\n`);
  expect(await codes(sync(false, [{ ...set, config: place }]))).toEqual(['SKILL_CONFIG_INVALID']);
  expect(skillSetStates(ground.stateRoot, [{ ...set, config: place }])[0]).toMatchObject({ state: 'invalid' });
});

it('asks GitHub over HTTPS, then over SSH', async () => {
  // The operator's own configuration of git is heeded, and leads both addresses to this machine.
  const home = join(ground.folder, 'home');
  writeDeep(
    join(home, '.gitconfig'),
    `[url "http://127.0.0.1:9/"]\n  insteadOf = https://github.com/\n[url "file://${ground.folder}/hub/"]\n  insteadOf = git@github.com:\n`,
  );
  renameSync(remote, join(ground.folder, 'plain'));
  mkdirSync(join(ground.folder, 'hub/someone'), { recursive: true });
  renameSync(join(ground.folder, 'plain'), join(ground.folder, 'hub/someone/skills.git'));
  vi.stubEnv('HOME', home);
  vi.stubEnv('XDG_CONFIG_HOME', join(home, '.config'));
  config('version: 2\nskill_repos:\n  - {repo: someone/skills, ref: main, pick: [describe]}\n');
  expect((await sync()).filter(({ result }) => result === 'failed')).toEqual([]);
  expect(readdirSync(installed('.codex'))).toEqual(['describe']);
  expect(lock().skills).toMatchObject([{ name: 'describe', repo: 'someone/skills' }]);
});

it('reads a folder of the host, and takes over no link that leads out of a skill', async () => {
  const folder = join(ground.folder, 'own-skills');
  writeDeep(join(folder, 'tool', 'SKILL.md'), skill('tool'));
  writeDeep(join(folder, 'tool', 'run.sh'), 'echo\n');
  chmodSync(join(folder, 'tool', 'run.sh'), 0o755);
  writeDeep(join(ground.folder, 'secret'), 'of the host');
  symlinkSync('run.sh', join(folder, 'tool', 'alias.sh'));
  symlinkSync(join(ground.folder, 'secret'), join(folder, 'tool', 'absolute'));
  symlinkSync('../../secret', join(folder, 'tool', 'relative'));
  symlinkSync('..', join(folder, 'tool', 'up'));
  config('version: 2\nskill_repos:\n  - {path: ./own-skills}\n');
  const records = await sync();
  expect(records[0]?.detail).toContain('3 links that lead out were left out');
  expect(readdirSync(installed('.claude', 'tool')).sort()).toEqual(['SKILL.md', 'alias.sh', 'run.sh']);
  expect(lstatSync(installed('.claude', 'tool', 'alias.sh')).isSymbolicLink()).toBe(true);
  expect(statSync(installed('.claude', 'tool', 'run.sh')).mode & 0o111).not.toBe(0);
  expect(lock().skills).toMatchObject([{ name: 'tool', source_path: './own-skills', resolved_commit: null }]);
  expect(told(await sync())).toEqual(['default-skills install unchanged']);
  // A link planted inside the home makes it another skill than the one that was installed.
  symlinkSync('/etc', installed('.claude', 'tool', 'planted'));
  expect(skillSetStates(ground.stateRoot, [set])[0]?.skills).toMatchObject([{ name: 'tool', state: 'stale' }]);
});

it('follows no link that the inside planted in the place of a home', async () => {
  const outside = join(ground.folder, 'outside');
  mkdirSync(outside);
  mkdirSync(join(ground.stateRoot, 'home', '.claude'), { recursive: true });
  symlinkSync(outside, installed('.claude'));
  const records = await sync();
  expect(records.some(({ result }) => result === 'failed')).toBe(true);
  expect(readdirSync(outside)).toEqual([]);
});

it('refuses a skill that two sets bring', async () => {
  const other: SkillSet = { ...set, id: 'client-skills', lock: hostPlace(join(ground.folder, 'other.lock.json')) };
  const records = await sync(false, [set, other]);
  expect(records.filter(({ result }) => result === 'failed')).toMatchObject([
    { id: 'client-skills', detail: 'commit', error: { error: 'SKILL_CONFIG_INVALID' } },
    { id: 'client-skills', detail: 'review' },
  ]);
});

it('does not call extra what another client has installed', async () => {
  const other: SkillSet = {
    ...skillSet('client-skills', {
      ...set,
      config: hostPlace(join(ground.folder, 'other.yaml')),
      lock: hostPlace(join(ground.folder, 'other.lock.json')),
    }),
  };
  writeFileSync(other.config.hostPath, `version: 2\nskill_repos:\n  - repo: ${url}\n    ref: main\n    pick: [describe]\n`);
  await sync(false, [set, other]);
  expect(await codes(sync(false, [set]))).toEqual([]);
  expect(skillSetStates(ground.stateRoot, [set])[0]).toMatchObject({ state: 'ok', faults: [] });
});
