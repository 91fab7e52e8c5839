/** The socket through which the host speaks to a guest in a container. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import type { Container } from 'dockerode';
import type { Engine } from './engine.ts';

const startLimitMs = 20_000;
const maxSocketPath = 107;

export const dockerFolder = (stateRoot: string): string => join(stateRoot, 'run', 'docker');
export const socketName = 'guest';
export const socketFolder = (runFolder: string, sandbox: string): string => join(runFolder, sandbox);

export function requireShortPath(path: string): void {
  if (path.length > maxSocketPath) throw new BoxError('config_invalid', `The path ${path} is too long for a socket.`);
}

/** Throws when the container ends before it shows. */
export async function waitForSocket({ ask }: Engine, container: Container, path: string, lost?: string): Promise<void> {
  const deadline = Date.now() + startLimitMs;
  for (let round = 1; !existsSync(path); round += 1) {
    const { State } = round % 50 === 0 ? await ask(container.inspect(), lost) : { State: undefined };
    if (State && !State.Running)
      throw new BoxError('sandbox_failed', `The sandbox ended at once: ${State.Error || `exit ${State.ExitCode}`}.`);
    if (Date.now() > deadline) {
      throw new BoxError('sandbox_failed', 'The sandbox runs, but its guest does not show on this machine.', {
        hint: 'The engine must run on this machine and see the same files.',
      });
    }
    await sleep(2);
  }
}
