/** Our guest on a machine: copied there once; a newer box brings a newer guest beside it. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { arch } from 'node:os';
import { BoxError } from '@skillbox/protocol';
import type { Connection } from './connection.ts';

export interface GuestProgram {
  /** Gives its path there. */
  install(): Promise<string>;
}

const architectures: Record<string, string> = { x64: 'x86_64', arm64: 'aarch64' };

export function createGuestProgram({ run }: Connection, path: string): GuestProgram {
  const program = readFileSync(path);
  const name = `guest-${createHash('sha256').update(program).digest('hex').slice(0, 16)}`;
  return {
    async install() {
      const [machine = '', there = '', found = ''] = (await run(look, [name])).split('\n');
      const ours = architectures[arch()];
      if (machine !== ours)
        throw new BoxError('sandbox_failed', `The machine is ${machine}, and this box has a guest for ${ours ?? arch()} only.`);
      if (found !== 'yes') await run(install, [there], program);
      return there;
    },
  };
}

const look = `cd "$HOME"; uname -m; echo "$(pwd -P)/.skillbox/$1"; [ -x ".skillbox/$1" ] && echo yes || true`;
/** The folder keeps other users out; in a container it is run by whoever the image says. */
const install = 'set -e; umask 077; mkdir -p "$(dirname -- "$1")"; cat > "$1.$$"; chmod 755 "$1.$$"; mv "$1.$$" "$1"';
