/** What is done on a placement host itself, in plain shell: folders, sources, and compose in whichever spelling is there. */

import type { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { Connection } from '../machines/connection.ts';
import { endMarked, marker, maxSocketPath } from '../machines/processes.ts';

export interface PlacementHost {
  /** The spelling of compose that is there, the newer one if both are. */
  compose(): Promise<ComposeCommand>;
  /** Makes the folder of a sandbox and gives its path. */
  create(sandbox: string): Promise<string>;
  /** Names of folders; `folderOf` says where one is, or would be. */
  list(): Promise<{ readonly sandboxes: readonly string[]; folderOf(sandbox: string): string }>;
  receive(at: Place, archive: Readable): Promise<void>;
  clone(at: Place, address: string, ref: string | undefined, limitMs: number): Promise<void>;
  /** A link in the project that leads out of it. */
  straying(at: Place): Promise<string | undefined>;
  /** Absolute paths; without names, the one that compose would take. */
  composeFiles(at: Place, names: readonly string[] | undefined): Promise<string[]>;
  read(path: string): Promise<string>;
  /** The whole configuration, with everything filled in. */
  resolve(at: Place, files: readonly string[], profiles: readonly string[], limitMs: number): Promise<string>;
  /** What `run` works with from then on. */
  keep(at: Place, config: string): Promise<void>;
  /** Compose with the kept configuration; nothing when there is none. */
  run(at: Place, args: readonly string[], limitMs: number): Promise<void>;
  clearSocket(at: Place): Promise<void>;
  /** Takes the guest's socket out of reach of the container; gives the user who made it. */
  adoptSocket(at: Place): Promise<{ uid: number; gid: number }>;
  busyPorts(): Promise<Set<number>>;
  /** Whatever still works for the sandbox there; whether there was something. */
  endWork(at: Place): Promise<boolean>;
  /** False when files in it belong to somebody else. */
  removeProject(at: Place): Promise<boolean>;
  remove(at: Place): Promise<void>;
}

export interface Place {
  readonly sandbox: string;
  /** Of the sandbox, on the host. */
  readonly folder: string;
  /** Name of the compose project. */
  readonly project: string;
}

export interface ComposeCommand {
  readonly words: 'docker compose' | 'docker-compose';
  readonly version: string;
}

export const projectOf = (folder: string): string => `${folder}/project`;
export const socketFolderOf = (folder: string): string => `${folder}/run`;
export const socketOf = (folder: string): string => `${folder}/guest`;

const defaultFiles = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];
const maxFileBytes = 2 ** 20;
const maxProjectKiB = 2 ** 20;

export function createPlacementHost({ run }: Connection, dockerSocket: string, owner: string): PlacementHost {
  let known: Promise<ComposeCommand> | undefined;

  const detect = async (): Promise<ComposeCommand> => {
    const [words, version = ''] = (await run(scripts.detect)).trim().split('\n');
    if (words === 'docker compose' || words === 'docker-compose') return { words, version };
    throw new BoxError('unavailable', 'The host has neither `docker compose` nor `docker-compose`, or no `docker`.');
  };

  /** A folder comes from a record; nothing is done or removed but where sandboxes of this box are. */
  const own = ({ sandbox, folder }: Place): string => {
    if (folder.endsWith(`/.skillbox-compose/${owner}/${sandbox}`) && /^[\w-]+$/.test(sandbox)) return folder;
    throw new BoxError('sandbox_failed', `${folder} is not the folder of sandbox ${sandbox}.`);
  };

  const compose = (): Promise<ComposeCommand> => {
    known ??= detect();
    // Somebody may install it meanwhile.
    known.catch(() => {
      known = undefined;
    });
    return known;
  };

  const runCompose = async (at: Place, args: readonly string[], limitMs: number): Promise<string> => {
    const { words } = await compose();
    const seconds = String(Math.max(1, Math.ceil(limitMs / 1000)));
    return run(scripts.compose, [words, dockerSocket, at.sandbox, seconds, own(at), '--project-name', at.project, ...args]);
  };

  return {
    compose,
    async create(sandbox) {
      const folder = (await run(scripts.create, [owner, sandbox])).trim();
      if (folder === 'exists') throw new BoxError('already_exists', `There is a sandbox ${sandbox} already.`);
      if (socketOf(folder).length <= maxSocketPath) return folder;
      await run(scripts.remove, [own({ sandbox, folder, project: '' })]);
      throw new BoxError('sandbox_failed', `The path ${socketOf(folder)} is too long for a socket.`);
    },
    async list() {
      const [home = '', ...sandboxes] = (await run(scripts.list, [owner])).split('\n').filter(Boolean);
      return { sandboxes, folderOf: (sandbox) => `${home}/.skillbox-compose/${owner}/${sandbox}` };
    },
    async receive(at, archive) {
      await run(scripts.receive, [own(at), at.sandbox], archive);
    },
    async clone(at, address, ref, limitMs) {
      const seconds = String(Math.ceil(limitMs / 1000));
      const size = Number(await run(scripts.clone, [own(at), at.sandbox, seconds, address, ref ?? 'HEAD']));
      if (!(size <= maxProjectKiB)) throw new BoxError('too_large', `The repository has ${Math.ceil(size / 1024)} MiB, which is too much.`);
    },
    async straying(at) {
      return (await run(scripts.straying, [own(at)])).split('\n')[0] || undefined;
    },
    async composeFiles(at, names) {
      const found = (await run(scripts.find, [own(at), ...(names ?? defaultFiles)])).split('\n').filter(Boolean);
      const wanted = names ? names.length : 1;
      if (found.length < wanted)
        throw new BoxError('bad_request', `The project lacks ${names ? 'one of ' : ''}${(names ?? defaultFiles).join(', ')}.`, {
          hint: 'Name its compose files in options.files of the template.',
        });
      return found.slice(0, wanted);
    },
    async read(path) {
      const text = await run(scripts.read, [path, String(maxFileBytes + 1)]);
      if (text.length > maxFileBytes) throw new BoxError('too_large', `${path} is too large for a compose file.`);
      return text;
    },
    resolve: (at, files, profiles, limitMs) =>
      runCompose(
        at,
        [...files.flatMap((file) => ['-f', file]), ...withProfiles(profiles), '--project-directory', projectOf(at.folder), 'config'],
        limitMs,
      ),
    async keep(at, config) {
      await run(scripts.keep, [own(at)], Buffer.from(config));
    },
    async run(at, args, limitMs) {
      if ((await run(scripts.isKept, [own(at)])).trim() !== 'yes') return;
      const { folder } = at;
      const kept = ['-f', `${folder}/checked.json`, '--project-directory', `${folder}/work`, '--env-file', `${folder}/work/none`];
      await runCompose(at, [...kept, ...args], limitMs);
    },
    async clearSocket(at) {
      await run(scripts.clearSocket, [own(at)]);
    },
    async adoptSocket(at) {
      const [uid = 0, gid = 0] = (await run(scripts.adoptSocket, [own(at)])).trim().split(' ').map(Number);
      return { uid, gid };
    },
    async busyPorts() {
      const lines = (await run('cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; true')).split('\n');
      return new Set(
        lines.flatMap((line) => /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) /.exec(line)?.[1] ?? []).map((hex) => Number.parseInt(hex, 16)),
      );
    },
    async endWork(at) {
      own(at);
      return (await run(scripts.endWork, [`${marker}=${at.sandbox}`])).trim() === 'yes';
    },
    async removeProject(at) {
      return (await run(scripts.removeProject, [own(at)])).trim() === 'yes';
    },
    async remove(at) {
      await run(scripts.remove, [own(at)]);
    },
  };
}

/** For both spellings. */
export const withProfiles = (profiles: readonly string[]): string[] => profiles.flatMap((profile) => ['--profile', profile]);

const scripts = {
  detect: `command -v docker >/dev/null || exit 0
for words in "docker compose" docker-compose; do
  version=$($words version --short 2>/dev/null) && case "$version" in v[0-9]*|[0-9]*) echo "$words"; echo "$version"; exit;; esac
done; true`,
  create: `set -e; umask 077; cd "$HOME"; folder="$(pwd -P)/.skillbox-compose/$1/$2"; mkdir -p "\${folder%/*}"
mkdir "$folder" 2>/dev/null || { [ -d "$folder" ] && echo exists && exit; echo "cannot make $folder" >&2; exit 1; }
mkdir -m 755 "$folder/project"; mkdir "$folder/work"; : > "$folder/work/none"
# For whoever the container's user is; the folder above keeps others of the host out.
mkdir "$folder/run"; chmod 777 "$folder/run"; echo "$folder"`,
  list: `cd "$HOME" || exit 1; pwd -P; cd ".skillbox-compose/$1" 2>/dev/null || exit 0
for name in *; do [ -d "$name" ] && echo "$name"; done; true`,
  receive: `set -e; export ${marker}="$2"; cd "$1/project"; tar -xpf - --no-same-owner`,
  clone: `set -e; export ${marker}="$2" GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=https:ssh GIT_SSH_COMMAND="ssh -o BatchMode=yes"; umask 022; cd "$1/project"
git init -q .; git remote add origin "$4"
# Some servers give a commit only with the branches it is on.
what=FETCH_HEAD
timeout "$3" git fetch -q --depth 1 --no-tags origin "$5" 2>.git/problem || case "$5" in
  *[!0-9a-f]*) cat .git/problem >&2; exit 1;;
  *) timeout "$3" git fetch -q --no-tags origin; what=$5;;
esac
git -c core.hooksPath=/dev/null checkout -q --detach "$what"
rm -rf .git; du -sk . | cut -f1`,
  straying: `cd "$1/project" || exit 1
find . -type l -exec /bin/sh -c 'here=$(pwd -P)
for link; do target=$(readlink -f -- "$link") || target=
  case "$target" in "$here"|"$here"/*) ;; *) echo "$link";; esac
done' sh {} +`,
  find: `cd "$1/project" || exit 1; here=$(pwd -P); shift
for name; do [ -f "$name" ] && case "$(readlink -f -- "$name")" in "$here"/*) readlink -f -- "$name";; esac; done; true`,
  read: 'head -c "$2" -- "$1"',
  keep: 'set -e; umask 077; cat > "$1/checked.new"; mv "$1/checked.new" "$1/checked.json"',
  isKept: '[ -f "$1/checked.json" ] && echo yes; true',
  compose: `words=$1 socket=$2 sandbox=$3 seconds=$4; cd "$5/work" || exit 1; shift 5
[ "$words" = docker-compose ] || { words=docker; set -- compose "$@"; }
env -i HOME="$HOME" PATH="$PATH" LANG=C.UTF-8 DOCKER_HOST="unix://$socket" ${marker}="$sandbox" timeout "$seconds" "$words" "$@" </dev/null
code=$?; [ $code != 124 ] || echo "it took longer than $seconds s" >&2; exit $code`,
  clearSocket: 'rm -rf -- "$1/guest" "$1/run/guest" "$1/run/guest.new"',
  /** Moved, a socket still leads to who listens; a link put in its place shows for what it is. */
  adoptSocket: `rounds=0
until [ -e "$1/run/guest" ]; do
  rounds=$((rounds + 1))
  [ $rounds -lt 500 ] || { echo "the guest did not start" >&2; exit 1; }
  sleep 0.02
done
mv -- "$1/run/guest" "$1/guest"
[ -S "$1/guest" ] && [ ! -L "$1/guest" ] || { rm -rf -- "$1/guest"; echo "what shows up is not the guest" >&2; exit 1; }
stat -c "%u %g" "$1/guest"`,
  endWork: `${endMarked}
grep -lszxF -e "$1" /proc/[0-9]*/environ >/dev/null && echo yes
end_marked "$1"`,
  removeProject:
    '[ -d "$1" ] || { echo yes; exit; }; chmod -R u+rwX -- "$1/project" 2>/dev/null; rm -rf -- "$1/project" 2>/dev/null && echo yes; true',
  remove: 'chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"',
};
