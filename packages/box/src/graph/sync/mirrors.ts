/**
 * Bare copies of remote repositories, the box's own. Network and credentials are used here only; working trees get what they need from
 * the copy, so that nothing that those in the workspace can write ever meets a key.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, isAbsolute, join, resolve, sep } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { draftFolderAt, hostFile } from '../place.ts';
import { graphFolder, type Runtime } from '../runtime.ts';
import { type GitResult, git, isLockComplaint, remoteGitEnv, whileLocked, withoutPassword } from './git.ts';

const askMs = 60_000;
const fetchMs = 15 * 60_000;
const commitPattern = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
/** What git takes for a branch or a tag, and nothing that it would take for a flag. */
const refPattern = /^(?!-)(?!.*(\.\.|@\{|\/\/|\.lock(\/|$)))[\w][\w./+@#-]*$/;

export interface Mirror {
  /** Folder on the host. */
  readonly path: string;
  /** The branch, tag or commit that was asked for. */
  readonly commit: string;
  /** undefined for a tag or a commit. */
  readonly branch: string | undefined;
  readonly fetched: boolean;
}

export const mirrorFolder = (stateRoot: string): string => join(graphFolder(stateRoot), 'mirrors');

export function mirrorPath(stateRoot: string, url: string): string {
  const name = basename(url.replace(/\/+$/, ''), '.git')
    .replace(/[^\w.-]/g, '_')
    .slice(-40);
  return join(mirrorFolder(stateRoot), `${name}-${createHash('sha256').update(url).digest('hex').slice(0, 16)}.git`);
}

/** The address as git gets it. A local repository is read as it is, so one that the workspace can write is refused. */
export function checkedUrl({ config }: Pick<Runtime, 'config'>, url: string): string {
  const refuse = (why: string, hint: string): BoxError => new BoxError('sync_failed', `${withoutPassword(url)} ${why}.`, { hint });
  if (url.startsWith('-') || /\p{Cc}/u.test(url)) throw refuse('is no address of a repository', 'Correct url of the item.');
  const local = localPath(config.baseDir, url);
  if (local === undefined) {
    if (/^(https?|ssh|git):\/\/[^-]/.test(url) || /^[\w.-]+@[\w.-]+:(?!\/\/)[^-]/.test(url)) return url;
    throw refuse('is no address of a repository', 'Use https://, ssh://, git://, file:// or user@host:path.');
  }
  if (`${local}${sep}`.startsWith(`${config.stateRoot}${sep}`))
    throw refuse('lies in the state of the box, where others can write', 'Fetch from where the repository comes from.');
  return `file://${local}`;
}

function localPath(baseDir: string, url: string): string | undefined {
  if (url.startsWith('file://')) return resolve(decodeURI(url.slice('file://'.length)));
  if (isAbsolute(url) || /^\.{1,2}(\/|$)/.test(url)) return resolve(baseDir, url);
  return undefined;
}

const turns = new Map<string, Promise<unknown>>();

/** Brings the copy up to date, if the remote has moved. Throws Unreachable, or sync_failed when there is no such ref. */
export function refreshMirror(runtime: Runtime, url: string, ref: string | undefined, label: string): Promise<Mirror> {
  const address = checkedUrl(runtime, url);
  const path = mirrorPath(runtime.config.stateRoot, url);
  // Two items may share a repository.
  const turn = (turns.get(path) ?? Promise.resolve()).then(() => refresh(runtime, address, path, ref, label));
  turns.set(
    path,
    turn.catch(() => undefined),
  );
  return turn;
}

/** What the remote has now, without fetching: for a dry run. */
export async function askRemote(
  runtime: Runtime,
  url: string,
  ref: string | undefined,
): Promise<{ commit: string; branch: string | undefined }> {
  return ask(runtime, checkedUrl(runtime, url), ref);
}

export class Unreachable extends BoxError {
  constructor(url: string, why: string) {
    super('sync_failed', `${withoutPassword(url)} could not be reached: ${why}`, {
      hint: 'Check the address, the network and the key for the repository, then run skillbox sync again.',
    });
  }
}

async function refresh(runtime: Runtime, url: string, path: string, ref: string | undefined, label: string): Promise<Mirror> {
  // A whole commit never changes: when it is there, nobody need be asked.
  if (ref !== undefined && commitPattern.test(ref) && existsSync(path) && (await hasCommit(runtime, path, ref)))
    return { path, commit: ref, branch: undefined, fetched: false };
  const there = await ask(runtime, url, ref);
  const name = there.branch === undefined ? undefined : `refs/heads/${there.branch}`;
  if (existsSync(path) && (name ? readRef(path, name) === there.commit : await hasCommit(runtime, path, there.commit)))
    return { path, ...there, fetched: false };
  runtime.progress(`Fetching ${label}`);
  await (existsSync(path) ? fetchInto(runtime, url, path, label) : create(runtime, url, path, label));
  if (!(await hasCommit(runtime, path, there.commit)))
    throw new BoxError('sync_failed', `${withoutPassword(url)} has no ${ref ?? there.commit} to fetch.`, {
      hint: 'Correct branch or ref of the item.',
    });
  return { path, ...there, fetched: true };
}

async function ask(runtime: Runtime, url: string, ref: string | undefined): Promise<{ commit: string; branch: string | undefined }> {
  if (ref !== undefined && !refPattern.test(ref))
    throw new BoxError('sync_failed', `${JSON.stringify(ref)} is no name of a branch, tag or commit.`, {
      hint: 'Correct branch or ref of the item.',
    });
  const wanted = ref === undefined ? ['HEAD'] : [`refs/heads/${ref}`, `refs/tags/${ref}`, `refs/tags/${ref}^{}`, 'HEAD'];
  const result = await run(runtime, ['ls-remote', '--symref', '--', url, ...wanted], runtime.config.baseDir, askMs);
  if (result.exit !== 0) throw new Unreachable(url, result.complaint);
  const found = new Map<string, string>();
  let head: string | undefined;
  for (const line of result.stdout.split('\n')) {
    const [value = '', name = ''] = line.split('\t');
    if (value.startsWith('ref: refs/heads/') && name === 'HEAD') head = value.slice('ref: refs/heads/'.length);
    else if (commitPattern.test(value)) found.set(name, value);
  }
  if (ref === undefined) {
    const commit = found.get('HEAD');
    if (commit && head) return { commit, branch: head };
    throw new BoxError('sync_failed', `${withoutPassword(url)} has no commit yet, or no default branch.`, { hint: 'Name a branch of it.' });
  }
  const branch = found.get(`refs/heads/${ref}`);
  if (branch) return { commit: branch, branch: ref };
  const tag = found.get(`refs/tags/${ref}^{}`) ?? found.get(`refs/tags/${ref}`);
  if (tag) return { commit: tag, branch: undefined };
  if (commitPattern.test(ref)) return { commit: ref, branch: undefined };
  throw new BoxError('sync_failed', `${withoutPassword(url)} has no branch or tag ${ref}.`, { hint: 'Correct branch or ref of the item.' });
}

/** Beside its place first: a copy that is there is whole. */
async function create(runtime: Runtime, url: string, path: string, label: string): Promise<void> {
  mkdirSync(mirrorFolder(runtime.config.stateRoot), { recursive: true, mode: 0o700 });
  const draft = draftFolderAt(hostFile(path));
  try {
    const made = await run(runtime, ['init', '--quiet', '--bare', '--template=', draft.path], '/', askMs);
    if (made.exit !== 0) throw new BoxError('sync_failed', `git init failed: ${made.complaint}`);
    await fetchInto(runtime, url, draft.path, label);
    draft.commit();
  } catch (error) {
    draft.discard();
    throw error;
  }
}

async function fetchInto(runtime: Runtime, url: string, path: string, label: string): Promise<void> {
  const args = [
    'fetch',
    '--progress',
    '--prune',
    '--no-write-fetch-head',
    '--',
    url,
    '+refs/heads/*:refs/heads/*',
    '+refs/tags/*:refs/tags/*',
  ];
  const result = await whileLocked(async () => {
    const tried = await run(runtime, args, path, fetchMs, (text) => runtime.progress(`${label}: ${text}`));
    return { ...tried, locked: tried.exit !== 0 && isLockComplaint(tried.complaint) };
  }, runtime.signal);
  if (result.exit !== 0) throw new Unreachable(url, result.complaint);
}

async function hasCommit(runtime: Runtime, path: string, commit: string): Promise<boolean> {
  return (await run(runtime, ['cat-file', '-e', `${commit}^{commit}`], path, askMs)).exit === 0;
}

function run(
  runtime: Runtime,
  args: readonly string[],
  cwd: string,
  timeoutMs: number,
  onProgress?: (text: string) => void,
): Promise<GitResult> {
  return git(args, { cwd, env: remoteGitEnv(), signal: runtime.signal, timeoutMs, ...(onProgress && { onProgress }) });
}

/** From the files, since asking git costs a process for each. */
function readRef(path: string, name: string): string | undefined {
  const loose = join(path, name);
  if (existsSync(loose)) return readFileSync(loose, 'utf8').trim();
  const packed = join(path, 'packed-refs');
  if (!existsSync(packed)) return undefined;
  return readFileSync(packed, 'utf8')
    .split('\n')
    .find((line) => line.endsWith(` ${name}`))
    ?.split(' ')[0];
}
