/** The machines that may be reached over SSH: a file of the operator's, since what runs there is held back by nobody. */

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { parse } from 'yaml';
import { z } from 'zod';

const hostsFile = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9.-]{0,62}$/, 'a name such as build-1'),
  z.strictObject({
    address: z.string().min(1),
    port: z.number().int().min(1).max(65535).default(22),
    user: z.string().min(1),
    key_file: z.string().min(1),
    docker_socket: z.string().startsWith('/').default('/var/run/docker.sock'),
    fingerprint: z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'expected SHA256:… as ssh-keygen -lf shows it'),
  }),
);

export interface SshHost {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  /** Absolute path of the private key. */
  readonly keyFile: string;
  /** Of the host's own key, as ssh-keygen -lf shows it. Another key is another machine. */
  readonly fingerprint: string;
  /** Of its Docker engine, if it has one. */
  readonly dockerSocket: string;
}

export function loadSshHosts(path: string): SshHost[] {
  const parsed = hostsFile.safeParse(readYaml(path));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BoxError('config_invalid', `${path}: ${issue?.path.join('.')}: ${issue?.message}`, { cause: parsed.error });
  }
  return Object.entries(parsed.data).map(([name, { key_file, docker_socket, ...host }]) => ({
    ...{ name, ...host, keyFile: resolve(dirname(path), key_file), dockerSocket: docker_socket },
  }));
}

function readYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8')) ?? {};
  } catch (cause) {
    throw new BoxError('config_invalid', `The file of SSH hosts cannot be read: ${(cause as Error).message}`, { cause });
  }
}
