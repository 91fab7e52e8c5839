/** Items of the graph that sync brings, made by hand, and real repositories of git to bring them from. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ActionRecord } from '@skillbox/protocol';
import type { Artifact, EnvFile, Graph, Item, Log, Place, Repo, SkillSet } from '../../packages/box/src/graph/graph.ts';
import { graph, hostPlace } from './graph.ts';

/** In the workspace of that state root. */
export const insidePlace = (stateRoot: string, path: string): Place => ({
  ...{ path: `/workspace/${path}`, hostPath: join(stateRoot, 'workspace', path), inside: true },
});
/** In the homes of agents. */
export const homePlace = (stateRoot: string, path: string): Place => ({
  ...{ path: `/home/sandbox/${path}`, hostPath: join(stateRoot, 'home', path), inside: true },
});

const item = (id: string): Item => ({
  ...{ id, client: undefined, required: false, profiles: [], notes: undefined },
  origin: { file: 'skillbox.yaml', line: 1 },
});

export const repo = (id: string, place: Place, source: Repo['source'], more: Partial<Repo> = {}): Repo => ({
  ...item(id),
  ...{ kind: 'repo', place, source, sync: 'clone-if-missing' },
  ...more,
});
export const gitSource = (url: string, branch: string | undefined = 'main'): Repo['source'] => ({ kind: 'git', url, branch });
export const artifact = (id: string, place: Place, source: Artifact['source'], more: Partial<Artifact> = {}): Artifact => ({
  ...item(id),
  ...{ place, source, executable: false, sync: source.kind === 'url' ? 'download-if-missing' : 'copy-if-missing' },
  ...more,
});
export const envFile = (id: string, place: Place, source: EnvFile['source'], more: Partial<EnvFile> = {}): EnvFile => ({
  ...item(id),
  ...{ kind: 'env-file', repo: undefined, place, mode: 0o600, source, sync: 'write' },
  ...more,
});
export const log = (id: string, place: Place, retentionDays?: number): Log => ({ ...item(id), place, retentionDays });
export const skillSet = (id: string, set: Pick<SkillSet, 'config' | 'lock' | 'cloneRoot' | 'targets'>): SkillSet => ({
  ...item(id),
  ...{ kind: 'skill-repo-set', ...set },
});

export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false', ...args], {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

/** A repository with these files in its first commit. Its address is file://FOLDER. */
export function remoteRepo(folder: string, files: Record<string, string> = { 'README.md': 'one\n' }): string {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '-q', '-b', 'main');
  commitFiles(folder, files);
  return `file://${folder}`;
}

export function commitFiles(folder: string, files: Record<string, string>): string {
  for (const [name, text] of Object.entries(files)) writeDeep(join(folder, name), text);
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', `change ${Object.keys(files).join(' ')}`);
  return git(folder, 'rev-parse', 'HEAD');
}

export function writeDeep(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Every file, link and folder with its content, mode and time: what wrote nothing leaves the same. */
export function picture(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const { ctimeMs, mode, mtimeMs } = lstatSync(path);
      const stats = lstatSync(path);
      const content = stats.isFile()
        ? createHash('sha256').update(readFileSync(path)).digest('hex')
        : stats.isSymbolicLink()
          ? readlinkSync(path)
          : '';
      return `${name} ${mode} ${mtimeMs} ${ctimeMs} ${content}`;
    });
}

/** Short enough to compare. */
export const told = (records: readonly ActionRecord[]): string[] => records.map(({ action, id, result }) => `${id} ${action} ${result}`);

/** A graph with items of every kind, on both grounds: `repos` on each, and `others` of each other kind. */
export function everyKind(folder: string, stateRoot: string, repos: number, others: number): Graph {
  const remote = join(folder, 'remote');
  const url = existsSync(remote)
    ? `file://${remote}`
    : remoteRepo(remote, { 'a.txt': 'one\n', 'skills/s/SKILL.md': '---\nname: s\n---\n' });
  if (!existsSync(join(folder, 'source.env'))) writeDeep(join(folder, 'source.env'), 'A=1\n');
  writeDeep(join(folder, 'source.bin'), 'bytes');
  writeDeep(join(folder, 'skill-repos.yaml'), `version: 2\nskill_repos:\n  - {repo: "${url}", ref: main, pick: [s]}\n`);
  const sha256 = createHash('sha256').update('bytes').digest('hex');
  const times = <T>(count: number, make: (number: number) => T[]): T[] => Array.from({ length: count }, (_, number) => make(number)).flat();
  return graph({
    repos: times(repos, (n) => [
      repo(`host-${n}`, hostPlace(join(folder, 'trees', String(n))), gitSource(url)),
      repo(`inside-${n}`, insidePlace(stateRoot, `repos/${n}`), gitSource(url)),
    ]),
    artifacts: times(others, (n) => [
      artifact(`artifact-${n}`, insidePlace(stateRoot, `bin/${n}`), { kind: 'file', path: join(folder, 'source.bin'), sha256 }),
    ]),
    envFiles: times(others, (n) => [
      envFile(`env-${n}`, insidePlace(stateRoot, `env/${n}.env`), { kind: 'file', path: join(folder, 'source.env') }),
    ]),
    logs: times(others, (n) => [log(`log-${n}`, insidePlace(stateRoot, `logs/${n}`), 7)]),
    skills: [
      skillSet('skills', {
        config: hostPlace(join(folder, 'skill-repos.yaml')),
        lock: hostPlace(join(folder, 'skill-repos.lock.json')),
        cloneRoot: join(stateRoot, 'skill-repos'),
        targets: [{ id: 'claude', place: homePlace(stateRoot, '.claude/skills') }],
      }),
    ],
  });
}
