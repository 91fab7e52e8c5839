/** One sandbox on a machine that exists: a folder there, and our guest, reached through the connection's own forwarding. */

import type { Duplex } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { SandboxHandle, SandboxSpec } from '../../living.ts';
import { createGuestClient } from '../guest/guest-client.ts';
import type { Connection } from '../machines/connection.ts';
import { createHomePaths } from '../machines/home-paths.ts';
import { marker } from '../machines/processes.ts';
import { homeOf, type Machine, socketOf } from './machine.ts';

export interface SandboxParts {
  readonly connection: Connection;
  readonly machine: Machine;
  /** Of the sandbox, on the machine. */
  readonly folder: string;
}

export function openSandbox({ connection, machine, folder }: SandboxParts, spec: SandboxSpec, forget: () => void): SandboxHandle {
  const paths = createHomePaths(homeOf(folder));
  let starting: Promise<void> | undefined;

  const connect = async (): Promise<Duplex> => {
    const stream = starting ? undefined : await connection.reach(socketOf(folder));
    if (stream) return stream;
    starting ??= machine.startGuest(spec.id, folder).finally(() => {
      starting = undefined;
    });
    await starting;
    const started = await connection.reach(socketOf(folder));
    if (started) return started;
    throw new BoxError('sandbox_failed', 'The guest runs, but is not reached.', {
      hint: 'The SSH server must allow forwarding to sockets: AllowStreamLocalForwarding yes.',
    });
  };

  const guest = createGuestClient(connect);

  const isRunning = async (): Promise<boolean> => {
    await starting?.catch(() => undefined);
    const stream = await connection.reach(socketOf(folder));
    stream?.destroy();
    return stream !== undefined;
  };

  const stop = async (): Promise<void> => {
    // Who waits for the start hears of its failure.
    await starting?.catch(() => undefined);
    await machine.stop(spec.id, folder);
  };

  return {
    async waitReady(signal) {
      signal.throwIfAborted();
      await guest.programs();
    },
    start: (program) => guest.start(paths.programThere({ ...program, env: { ...spec.env, ...program.env, [marker]: spec.id } })),
    join: guest.join,
    programs: async () => ((await isRunning()) ? (await guest.programs()).map(paths.programHere) : []),
    async signal(id, signal) {
      // To the guest 0 means everything it can reach, and here that is everything of the user's on the machine.
      if (id < 1) throw new BoxError('bad_request', 'A signal goes to one program.');
      await guest.signal(id, signal);
    },
    endAll: () => machine.endPrograms(spec.id),
    files: paths.files(guest.files),
    connect: guest.tunnel,
    metrics: () => machine.metrics(spec.id, folder),
    async snapshot() {
      throw new BoxError('capability_missing', 'The ssh provider takes no snapshots: the disk is the machine’s.');
    },
    pause: stop,
    async isActive() {
      return (await isRunning()) && (await guest.programs()).some((program) => !program.ended);
    },
    async teardown() {
      await stop();
      await machine.remove(spec.id, folder);
      forget();
    },
  };
}
