/** What a template, and whoever makes a sandbox from it, say to this provider. */

import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { parseDuration } from '../../../units.ts';
import type { SandboxSpec } from '../../living.ts';
import { allowance } from './findings.ts';

const name = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$/, 'expected a name such as web');
const inProject = z.string().regex(/^(?!-)[^\0$:]{1,300}$/, 'expected a path in the project');

const given = z.object({
  repo: z.string().min(1).max(2000).optional(),
  ref: z
    .string()
    .regex(/^(?![-.])[\w./+-]{1,200}$/, 'expected a branch, a tag or a commit')
    .optional(),
  service: name.optional(),
  files: z.array(inProject).min(1).max(16).optional(),
  profiles: z.array(name).max(16).default([]),
  allow: z.array(allowance).default([]),
  time_limit: z.union([z.string(), z.number()]).default('5m'),
  placement: z.array(z.string()).optional(),
});

export interface ComposeOptions {
  /** Folder on this machine, or address that the placement host clones. */
  readonly repo: string;
  readonly ref?: string;
  /** The one that programs, files and terminals act in. */
  readonly service?: string;
  /** Compose files, in the order in which they are merged. */
  readonly files?: readonly string[];
  readonly profiles: readonly string[];
  /** What the policy would refuse. */
  readonly allow: readonly string[];
  /** For everything until its containers run. */
  readonly timeLimitMs: number;
  /** Hosts, in order of preference. */
  readonly placement?: readonly string[];
}

/** Inputs go before what the template says, but for what may loosen the policy. */
export function readOptions({ options }: Pick<SandboxSpec, 'options'>): ComposeOptions {
  const inputs = z.object({ repo: z.unknown(), ref: z.unknown(), service: z.unknown() }).partial().safeParse(options.inputs).data ?? {};
  const parsed = given.safeParse({ ...options, ...Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined)) });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BoxError('bad_request', `compose-ssh: ${issue?.path.join('.')}: ${issue?.message}`, { cause: parsed.error });
  }
  const { repo, ref, service, files, profiles, allow, placement } = parsed.data;
  const timeLimitMs = parseDuration(parsed.data.time_limit);
  if (repo === undefined)
    throw new BoxError('bad_request', 'compose-ssh: no project is named.', {
      hint: 'Give it as the input repo, or in options.repo of the template.',
    });
  if (timeLimitMs === undefined || timeLimitMs < 1000 || timeLimitMs > 3600_000)
    throw new BoxError('bad_request', 'compose-ssh: time_limit: expected a time from 1s to 1h.');
  return {
    ...{ repo, profiles, allow, timeLimitMs },
    ...(ref !== undefined && { ref }),
    ...(service !== undefined && { service }),
    ...(files !== undefined && { files }),
    ...(placement !== undefined && { placement }),
  };
}
