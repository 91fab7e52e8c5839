/** What in a project reaches for the placement host itself, and the word with which a template allows it. */

import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';

export const allowances = {
  privileged: 'containers with every right on the host',
  capabilities: 'rights of root beyond the usual ones',
  devices: 'devices of the host',
  security_opt: 'loosened filters',
  runtime: 'another runtime than the engine’s default',
  sysctls: 'kernel settings',
  host_namespaces: 'processes, memory, users or cgroups of the host or of a container that is not of the project',
  host_network: 'the network of the host, networks other than plain bridges, or addresses chosen by the project',
  host_gateway: 'a name for the host',
  host_mounts: 'files of the host outside the project',
  writable_mounts: 'files of the project, written by containers',
  external: 'networks, volumes, secrets or containers that others made',
  public_ports: 'ports that others than the host itself reach',
  remote_builds: 'builds from other addresses, or with keys and secrets of the host',
} as const;

export type Allowance = keyof typeof allowances;

/** `key:NAME` lets a key of a service through that is not known to be harmless. */
export const allowance = z.union([z.enum(Object.keys(allowances) as [Allowance, ...Allowance[]]), z.string().regex(/^key:[a-z_]{1,40}$/)], {
  error: `expected one of ${Object.keys(allowances).join(', ')}, or key:NAME`,
});

export interface Finding {
  /** Such as services.web.privileged. */
  readonly where: string;
  readonly needs: Allowance | `key:${string}`;
}

/** Throws with all of them, so that nobody has to find them one by one. */
export function refuse(findings: readonly Finding[], allowed: readonly string[]): void {
  const refused = findings.filter(({ needs }) => !allowed.includes(needs));
  if (refused.length === 0) return;
  const list = refused.map(({ where, needs }) => `${where} (${meaning(needs)}; allowed by ${needs})`);
  throw new BoxError('forbidden', `The policy refuses this project: ${list.join('; ')}.`, {
    hint: 'Change the compose file, or have an administrator allow it in options.allow of the template.',
    details: { findings: refused },
  });
}

const meaning = (needs: Finding['needs']): string =>
  needs.startsWith('key:') ? 'not known to be harmless' : allowances[needs as Allowance];
