/**
 * A sandbox of this machine while no server runs: what is in it goes on, and its guest listens on a socket that only the user of the box
 * can open. Enough to tell what runs in there and to end it; everything else is the server's.
 */

import { existsSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { ProgramInfo } from './living.ts';
import { collect, programSpec } from './programs.ts';
import { bubblewrapFolder, socketFolder, socketOf } from './providers/bubblewrap/folders.ts';
import { socketFolder as containerFolder, dockerFolder, socketName } from './providers/docker/socket.ts';
import { connectTo, createGuestClient } from './providers/guest/guest-client.ts';

export interface StandingGuest {
  programs(): Promise<readonly ProgramInfo[]>;
  signal(program: number, signal: NodeJS.Signals): Promise<void>;
  /** A short program to its end; undefined: it was not through in time, and was killed. */
  run(argv: readonly string[], timeoutMs: number): Promise<number | null | undefined>;
}

const mostOutput = 4096;

/** 'gone': nothing runs in it. undefined: it is none that is reached like this, such as one of another provider. Throws unreachable. */
export async function reachGuest(stateRoot: string, sandbox: string): Promise<StandingGuest | 'gone' | undefined> {
  const path = guestOf(stateRoot, sandbox);
  if (path === undefined) return undefined;
  try {
    (await connectTo(path)).destroy();
  } catch (error) {
    // The socket of one that was killed: nobody listens, so nothing of it is left.
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ECONNREFUSED'].includes(code)) return 'gone';
    throw new BoxError('unreachable', `Nobody can say what runs in sandbox ${sandbox}: ${message}.`, { cause: error });
  }
  const guest = createGuestClient(() => connectTo(path));
  return {
    programs: () => guest.programs(),
    signal: (program, signal) => guest.signal(program, constants.signals[signal]),
    async run(argv, timeoutMs) {
      const id = 1 + Math.max(0, ...(await guest.programs()).map((program) => program.id));
      const program = await guest.start(programSpec(id, { argv, env: {}, cwd: '/', stdin: false }));
      const late = AbortSignal.timeout(timeoutMs);
      try {
        return (await collect(program, mostOutput, late)).exitCode;
      } catch (error) {
        if (!late.aborted) throw error;
        await guest.signal(id, constants.signals.SIGKILL);
        return undefined;
      } finally {
        await guest.forget(id);
      }
    },
  };
}

/** Those of this machine that live on, with what runs in them. */
export async function standingSandboxes(stateRoot: string): Promise<string[]> {
  const known = [livingFolder(stateRoot), dockerFolder(stateRoot)].flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  const found = [...new Set(known)].map(async (sandbox) => {
    // One that cannot be asked is there.
    const guest = await reachGuest(stateRoot, sandbox).catch(() => sandbox);
    return guest === undefined || guest === 'gone' ? [] : [sandbox];
  });
  return (await Promise.all(found)).flat();
}

const livingFolder = (stateRoot: string): string => join(stateRoot, 'sandboxes', 'living');

/** Where the guest of a sandbox listens that bubblewrap or docker made here. */
function guestOf(stateRoot: string, sandbox: string): string | undefined {
  const folder = socketFolder(bubblewrapFolder(stateRoot));
  if (existsSync(folder) && existsSync(join(livingFolder(stateRoot), sandbox))) return socketOf(folder, sandbox);
  const ofContainer = containerFolder(dockerFolder(stateRoot), sandbox);
  return existsSync(ofContainer) ? join(ofContainer, socketName) : undefined;
}
