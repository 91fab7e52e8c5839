/**
 * Working trees of git. One that lies on the host's own ground is worked on directly; one that the workspace can write has a
 * configuration that the workspace wrote, so git meets it only in a jail.
 */

import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Place } from '../graph.ts';
import { draftFolderAt, existsAt, wayTo } from '../place.ts';
import { bounded } from './bounded.ts';
import { gitFlags, isLockComplaint, localGitEnv, runBounded, whileLocked, withoutPassword } from './git.ts';

export interface TreeState {
  /** null: detached. */
  readonly branch: string | null;
  /** null: none yet. */
  readonly commit: string | null;
  /** Files that differ from the commit, those that git does not know among them. */
  readonly dirty: number;
  /** Against what was last fetched of its branch. */
  readonly ahead: number;
  readonly behind: number;
  /** Short hash and subject; with `last`. */
  readonly lastCommit: string | null;
}

export interface TreeOptions {
  readonly signal: AbortSignal;
}

/** For one tree, in seconds: one that holds git up must not hold up the others for long. */
const patience = 10;
/** To look must be quick, whatever somebody put there: for one tree, and for all of them together. */
export const lookPatience = { patience: 3, withinMs: 5000 };
const changeMs = 10 * 60_000;
/** A jail takes up to 40 folders. */
const treesAtOnce = 12;
const maxOutput = 8 * 2 ** 20;

export interface LookOptions extends TreeOptions {
  readonly last?: boolean;
  /** For one tree, in seconds. */
  readonly patience?: number;
  /** For all of them; default: as long as it takes. */
  readonly withinMs?: number;
}

/** In the order of the places; undefined where no tree of git is, or git cannot read it in time. Reads only. */
export async function treeStates(places: readonly Place[], options: LookOptions): Promise<(TreeState | undefined)[]> {
  return (await lookAtTrees(places, options)).map((state) => (state === 'late' ? undefined : state));
}

/** The same, telling which did not answer in time. */
export async function lookAtTrees(places: readonly Place[], options: LookOptions): Promise<(TreeState | 'late' | undefined)[]> {
  const states = new Map<Place, TreeState | 'late'>();
  const seconds = options.patience ?? patience;
  const deadline = performance.now() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  const trees = places.filter((place) => existsAt(below(place, '.git')));
  const groups = [true, false].flatMap((inside) =>
    inGroups(
      trees.filter((place) => place.inside === inside),
      treesAtOnce,
    ),
  );
  const read = async (group: readonly Place[]): Promise<void> => {
    const left = deadline - performance.now();
    // In a jail they are looked at all at once, elsewhere one after the other.
    const turns = group[0]?.inside ? 1 : group.length;
    const timeoutMs = Math.min((turns * seconds + 5) * 1000, left);
    const late = (): void => {
      for (const place of group) states.set(place, 'late');
    };
    if (left <= 0) return late();
    let texts: string[];
    try {
      texts = await runOver(
        group,
        { script: stateScript(options.last ?? false, seconds), args: [], timeoutMs, write: false, together: true },
        options,
      );
    } catch {
      options.signal.throwIfAborted();
      if (performance.now() >= deadline) return late();
      // Its state is unknown then, and sync says why.
      if (group.length === 1) return;
      // One of them went away meanwhile, or holds git up: the others answer for themselves.
      for (const place of group) await read([place]);
      return;
    }
    group.forEach((place, index) => {
      const text = texts[index] ?? '';
      const state = text.includes('\n\x01late') ? 'late' : parseState(text);
      if (state) states.set(place, state);
    });
  };
  await bounded(groups, Math.max(2, availableParallelism()), read);
  return places.map((place) => states.get(place));
}

/** A new tree from the copy of its repository, whole or not at all. */
export async function cloneTree(
  place: Place,
  { branch, commit, mirror, url }: { mirror: string; branch: string | undefined; commit: string; url: string },
  options: TreeOptions,
): Promise<void> {
  const draft = draftFolderAt(place);
  try {
    const at: Place = { path: draft.path, hostPath: draft.path, inside: place.inside };
    await change(at, wayTo(place), cloneScript, [branch ?? '', commit, withoutPassword(url)], mirror, options);
    draft.commit();
  } catch (error) {
    draft.discard();
    throw error;
  }
}

/** Objects and names of remote branches come into the tree; its files stay as they are. */
export const fetchIntoTree = (place: Place, mirror: string, options: TreeOptions): Promise<void> =>
  change(place, wayTo(place), fetchScript, [], mirror, options);

/** Its branch moves on to what was fetched. git itself refuses where that would cost a local change. */
export const forwardTree = (place: Place, branch: string, mirror: string, options: TreeOptions): Promise<void> =>
  change(place, wayTo(place), forwardScript, [branch], mirror, options);

/** A tree without a branch, at that commit. */
export const detachTree = (place: Place, commit: string, mirror: string, options: TreeOptions): Promise<void> =>
  change(place, wayTo(place), detachScript, [commit], mirror, options);

/** Whether a fast-forward was cut off there and has been brought to its end, without touching what anybody changed since. */
export async function mendTree(place: Place, from: string, to: string, options: TreeOptions): Promise<boolean> {
  const [text = ''] = await runOver([place], { script: mendScript, args: [from, to], timeoutMs: changeMs, write: true }, options);
  return text.includes('mended');
}

async function change(
  place: Place,
  way: ReturnType<typeof wayTo>,
  script: string,
  args: readonly string[],
  mirror: string,
  options: TreeOptions,
): Promise<void> {
  // What a draft is called, both views share.
  const names = place.hostPath.endsWith('.skillbox-new')
    ? [...way.names.slice(0, -1), place.hostPath.slice(dirname(place.hostPath).length + 1)]
    : way.names;
  const order = { script, args, timeoutMs: changeMs, write: true, mirror, way: { root: way.root, names } };
  const { text } = await whileLocked(async () => {
    const [said = ''] = await runOver([place], order, options);
    return { text: said, locked: !said.includes('\x01done') && isLockComplaint(said) };
  }, options.signal);
  if (text.includes('\x01done')) return;
  throw new BoxError(
    'sync_failed',
    `git could not do it: ${withoutPassword(text.trim().split('\n').slice(-3).join(' ')) || 'it did not say why'}`,
  );
}

interface Order {
  /** For sh: what it says for each tree. */
  readonly script: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  readonly write: boolean;
  /** In a jail: for all trees at once, so that one that holds git up costs the others nothing. */
  readonly together?: boolean;
  readonly mirror?: string;
  readonly way?: { readonly root: string; readonly names: readonly string[] };
}

/** The script, once for each tree, with the tree as its folder; what it said for each. All of one ground. */
async function runOver(
  places: readonly Place[],
  { args, mirror, script, timeoutMs, together = false, way, write }: Order,
  { signal }: TreeOptions,
): Promise<string[]> {
  const inside = places[0]?.inside ?? false;
  const one = `( cd "$tree" || exit; ${script}
)`;
  const inTurn = `for tree in "$@"; do printf '\\n\\001tree\\n'; ${one} 2>&1; done`;
  // What each says is kept in the jail until all have said it.
  const atOnce = `n=0; for tree in "$@"; do n=$((n + 1)); ${one} > /tmp/said-$n 2>&1 & done; wait
n=0; for tree in "$@"; do n=$((n + 1)); printf '\\n\\001tree\\n'; cat /tmp/said-$n; done`;
  const whole = `mirror=$1; shift; ${args.map((_, index) => `a${index}=$1; shift;`).join(' ')}
${inside && together ? atOnce : inTurn}`;
  const env = { ...localGitEnv, ...configInEnv() };
  const command = (shown: string, trees: readonly string[]): string[] => ['-c', whole, 'sh', shown, ...args, ...trees];
  if (!inside) {
    const run = { cwd: '/', env, signal, timeoutMs };
    const { complaint, exit, stdout } = await runBounded(
      '/bin/sh',
      command(
        mirror ?? '',
        places.map(({ hostPath }) => hostPath),
      ),
      run,
    );
    if (exit < 0) throw new BoxError('sync_failed', `git was ended: ${complaint}`);
    return split(stdout);
  }
  const folders = places.map((place, index) => ({
    ...(way ?? wayTo(place)),
    at: `/trees/${index}`,
    access: write ? ('write' as const) : ('read' as const),
  }));
  // Only for who has such trees: the jail brings much of the sandbox along.
  const { runJailed } = await import('../../sandbox/jail.ts');
  const result = await runJailed({
    folders: [...folders, ...(mirror === undefined ? [] : [{ root: mirror, names: [], at: '/mirror', access: 'read' as const }])],
    argv: [
      '/bin/sh',
      ...command(
        '/mirror',
        places.map((_, index) => `/trees/${index}`),
      ),
    ],
    env: { ...env, HOME: '/tmp' },
    timeoutMs,
    maxOutputBytes: maxOutput,
    signal,
  });
  if (result.ended !== 'itself')
    throw new BoxError('sync_failed', `git was ended: ${result.ended === 'timeout' ? 'it took too long' : 'it said too much'}.`);
  return split(result.stdout.toString());
}

const split = (text: string): string[] => text.split('\n\x01tree\n').slice(1);

/** As flags would be, for programs between us and git. */
function configInEnv(): Record<string, string> {
  const settings = gitFlags.filter((word) => word !== '-c');
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  settings.forEach((setting, index) => {
    const cut = setting.indexOf('=');
    env[`GIT_CONFIG_KEY_${index}`] = setting.slice(0, cut);
    env[`GIT_CONFIG_VALUE_${index}`] = setting.slice(cut + 1);
  });
  return env;
}

/** Only the folder itself: git would look for a repository in those above it. */
const own = 'export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD";';
/** How timeout ends what it had to end. */
const tellLate = `case $? in 124 | 137) printf '\\n\\001late' ;; esac`;
const stateScript = (last: boolean, seconds: number): string =>
  `${own} { timeout -k 1 ${seconds} git status --porcelain=v2 --branch --untracked-files=normal --ignore-submodules=dirty 2>/dev/null; ${tellLate}; } | head -c 500000${
    last
      ? `; printf '\\n\\001last '; timeout -k 1 ${seconds} git -c log.showSignature=false log -1 --no-color --format='%h %s' 2>/dev/null | head -c 400`
      : ''
  }`;
/** The copy belongs to somebody else than who reads it in the jail, and what a fetch starts there does not get our environment. */
const trustMirror = `unset GIT_OPTIONAL_LOCKS; [ -w /tmp ] && [ "$HOME" = /tmp ] && { printf '[safe]\\n directory = *\\n' > /tmp/.gitconfig; export GIT_CONFIG_GLOBAL=/tmp/.gitconfig; };`;
const cloneScript = `${trustMirror}
if [ -n "$a0" ]; then git clone -q --no-hardlinks --template= --branch "$a0" -- "$mirror" . || exit
else git clone -q --no-hardlinks --template= --no-checkout -- "$mirror" . && git checkout -q --detach "$a1" || exit; fi
git remote set-url origin "$a2" && printf '\\001done'`;
const fetch = `git fetch -q --no-write-fetch-head --no-auto-maintenance -- "$mirror" '+refs/heads/*:refs/remotes/origin/*'`;
const fetchScript = `${trustMirror} ${own} ${fetch} && printf '\\001done'`;
const forwardScript = `${trustMirror} ${own} ${fetch} && git merge -q --ff-only "refs/remotes/origin/$a0" && printf '\\001done'`;
const detachScript = `${trustMirror} ${own} ${fetch} && git checkout -q --detach "$a0" && printf '\\001done'`;
/**
 * git was killed between two commits: each file is as in the old one, as in the new one, gone, or the beginning of the new one. When every
 * file is one of these, nobody has changed anything since, and the rest can follow.
 */
const mendScript = `${trustMirror} ${own}
at=$(git rev-parse -q --verify HEAD) || exit; [ "$at" = "$a0" ] || [ "$at" = "$a1" ] || exit
differing() { GIT_INDEX_FILE=/tmp/mend-$$; export GIT_INDEX_FILE; rm -f "$GIT_INDEX_FILE"; git read-tree "$1" && git -c core.quotePath=false diff-files --name-only -z | tr '\\0\\n' '\\n\\0' | sort; rm -f "$GIT_INDEX_FILE"; unset GIT_INDEX_FILE; }
list=$(mktemp -d /tmp/mend-XXXXXX) || exit
differing "$a0" > "$list/old"; differing "$a1" > "$list/new"
if comm -12 "$list/old" "$list/new" | while IFS= read -r file; do
  [ -e "$file" ] || [ -L "$file" ] || continue
  [ -f "$file" ] && [ ! -L "$file" ] && git cat-file blob "$a1:$file" 2>/dev/null | cmp -s -n "$(stat -c %s "$file")" - "$file" || exit 1
done; then rm -f .git/index.lock .git/HEAD.lock .git/ORIG_HEAD.lock; git reset -q --hard "$a1" && printf 'mended'; fi
rm -rf "$list"`;

function parseState(text: string): TreeState | undefined {
  const [body = '', last] = text.split('\n\x01last ');
  let branch: string | null = null;
  let commit: string | null | undefined;
  let dirty = 0;
  let ahead = 0;
  let behind = 0;
  for (const line of body.split('\n')) {
    const [, key, value = ''] = /^# branch\.(\w+) (.*)$/.exec(line) ?? [];
    if (key === 'oid') commit = /^[0-9a-f]{40,64}$/.test(value) ? value : null;
    else if (key === 'head') branch = value === '(detached)' ? null : value.slice(0, 250);
    else if (key === 'ab') [ahead = 0, behind = 0] = value.split(' ').map((part) => Math.abs(Number.parseInt(part, 10)) || 0);
    else if (/^[12u?] /.test(line)) dirty += 1;
  }
  if (commit === undefined) return undefined;
  return { branch, commit, dirty, ahead, behind, lastCommit: last?.trim() || null };
}

const below = ({ hostPath, inside, path }: Place, name: string): Place => ({
  path: `${path}/${name}`,
  hostPath: `${hostPath}/${name}`,
  inside,
});

function inGroups<T>(items: readonly T[], size: number): T[][] {
  const groups: T[][] = [];
  for (let index = 0; index < items.length; index += size) groups.push(items.slice(index, index + size));
  return groups;
}
