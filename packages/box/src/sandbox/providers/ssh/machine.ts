/** What is done on the machine itself, in plain shell: folders of sandboxes, the guest, and the processes that belong to one. */

import { BoxError } from '@skillbox/protocol';
import type { SandboxMetrics } from '../../living.ts';
import type { Connection } from '../machines/connection.ts';
import { createGuestProgram } from '../machines/guest-program.ts';
import { endMarked, marker, maxSocketPath } from '../machines/processes.ts';

export interface Machine {
  /** Makes the folder of a sandbox and gives its path. */
  create(sandbox: string): Promise<string>;
  list(): Promise<{ sandbox: string; folder: string }[]>;
  /** Returns when the guest listens. */
  startGuest(sandbox: string, folder: string): Promise<void>;
  /** Everything that runs in it, the guest too. */
  stop(sandbox: string, folder: string): Promise<void>;
  /** Everything that runs in it but the guest. */
  endPrograms(sandbox: string): Promise<void>;
  remove(sandbox: string, folder: string): Promise<void>;
  metrics(sandbox: string, folder: string): Promise<SandboxMetrics>;
}

export const socketOf = (folder: string): string => `${folder}/guest`;
export const homeOf = (folder: string): string => `${folder}/home`;

export function createMachine(connection: Connection, guestProgram: string, owner: string): Machine {
  const { run } = connection;
  const guest = createGuestProgram(connection, guestProgram);

  /** A folder comes from a record; nothing is removed or started but where sandboxes of this box are. */
  const own = (sandbox: string, folder: string): string => {
    if (folder.endsWith(`/.skillbox/${owner}/${sandbox}`) && /^[\w-]+$/.test(sandbox)) return folder;
    throw new BoxError('sandbox_failed', `${folder} is not the folder of sandbox ${sandbox}.`);
  };

  return {
    async create(sandbox) {
      await guest.install();
      const folder = (await run(scripts.create, [owner, sandbox])).trim();
      if (folder === 'exists') throw new BoxError('already_exists', `There is a sandbox ${sandbox} already.`);
      if (socketOf(folder).length <= maxSocketPath) return folder;
      await run(scripts.remove, [own(sandbox, folder)]);
      throw new BoxError('sandbox_failed', `The path ${socketOf(folder)} is too long for a socket.`);
    },
    async list() {
      const lines = (await run(scripts.list, [owner])).split('\n').filter(Boolean);
      return lines.map((folder) => ({ folder, sandbox: folder.slice(folder.lastIndexOf('/') + 1) }));
    },
    async startGuest(sandbox, folder) {
      await run(scripts.start, [own(sandbox, folder), await guest.install()]);
    },
    async stop(sandbox, folder) {
      await run(scripts.stop, [own(sandbox, folder), `${marker}=${sandbox}`]);
    },
    async endPrograms(sandbox) {
      await run(scripts.endPrograms, [`${marker}=${sandbox}`]);
    },
    async remove(sandbox, folder) {
      await run(scripts.remove, [own(sandbox, folder)]);
    },
    async metrics(sandbox, folder) {
      return parseMetrics(await run(scripts.metrics, [own(sandbox, folder), `${marker}=${sandbox}`]));
    },
  };
}

/** A pid may be somebody else's by now: it is the guest only while its command line names this socket. */
const guestPid = `
guest_pid() {
  pid=$(cat "$1/pid" 2>/dev/null) || return 1
  tr "\\000" " " < "/proc/$pid/cmdline" 2>/dev/null | grep -qF -e "--listen $1/guest " && echo "$pid"
}`;

const scripts = {
  create: `set -e; umask 077; cd "$HOME"; folder="$(pwd -P)/.skillbox/$1/$2"; mkdir -p "\${folder%/*}"
mkdir "$folder" 2>/dev/null || { [ -d "$folder" ] && echo exists && exit; echo "cannot make $folder" >&2; exit 1; }
mkdir -m 755 "$folder/home"; echo "$folder"`,
  list: `cd "$HOME/.skillbox/$1" 2>/dev/null || exit 0
for name in *; do [ -d "$name" ] && echo "$(pwd -P)/$name"; done; true`,
  start: `${guestPid}
[ -d "$1/home" ] || { echo "the folder of the sandbox is not there" >&2; exit 1; }
guest_pid "$1" >/dev/null && exit 0
rm -f "$1/guest"
cd /
env -i setsid /bin/sh -c 'echo $$ > "$1/pid"; exec "$2" --listen "$1/guest"' sh "$1" "$2" </dev/null >"$1/log" 2>&1 &
rounds=0
until [ -S "$1/guest" ]; do
  rounds=$((rounds + 1))
  [ $rounds -lt 250 ] && [ ! -s "$1/log" ] || { echo "the guest did not start: $(cat "$1/log")" >&2; exit 1; }
  sleep 0.02
done`,
  stop: `${endMarked}${guestPid}
if pid=$(guest_pid "$1"); then kill -9 "$pid"; while [ -d "/proc/$pid" ] && guest_pid "$1" >/dev/null; do sleep 0.01; done; fi
end_marked "$2"
rm -f "$1/guest" "$1/pid" "$1/log"`,
  endPrograms: `${endMarked}
end_marked "$1"`,
  remove: 'chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"',
  metrics: `${guestPid}
echo "page $(getconf PAGESIZE) $(getconf CLK_TCK)"
echo "memory $(grep MemTotal: /proc/meminfo | tr -dc 0-9)"
echo "disk $(du -sk "$1/home" 2>/dev/null | cut -f1)"
echo "room $(df -Pk "$1" | tail -n 1 | tr -s " " | cut -d" " -f2)"
for pid in $(guest_pid "$1") $(grep -lszxF -e "$2" /proc/[0-9]*/environ | cut -d/ -f3); do
  echo "stat $(cat /proc/$pid/stat 2>/dev/null)"
done; true`,
};

function parseMetrics(said: string): SandboxMetrics {
  const lines = said.split('\n');
  const numbers = (word: string): number[] => {
    const line = lines.find((candidate) => candidate.startsWith(`${word} `)) ?? '';
    return line.split(' ').slice(1).map(Number);
  };
  const [page = 4096, ticks = 100] = numbers('page');
  // After the name, which may have anything in it: state is the first field, and the third of all.
  const stats = lines
    .filter((line) => line.startsWith('stat ') && line.includes(')'))
    .map((line) => line.slice(line.lastIndexOf(')') + 2).split(' '));
  const sum = (...fields: number[]): number =>
    stats.reduce((total, stat) => total + fields.reduce((part, at) => part + Number(stat[at - 3]), 0), 0);
  return {
    cpuMs: Math.round((sum(14, 15) * 1000) / ticks),
    memoryBytes: sum(24) * page,
    memoryLimitBytes: (numbers('memory')[0] ?? 0) * 1024,
    diskBytes: (numbers('disk')[0] ?? 0) * 1024,
    diskLimitBytes: (numbers('room')[0] ?? 0) * 1024,
    processes: stats.length,
  };
}
