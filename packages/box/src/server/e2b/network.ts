/** What the protocol says about a sandbox's network, in our words: this box denies what is not allowed, so a list of exceptions is the list. */

import type { NetworkChoice, Sandbox } from '@skillbox/protocol';
import { z } from 'zod';
import { E2bError } from './answer.ts';

const everything = new Set(['0.0.0.0/0', '::/0']);
const list = z.array(z.string()).nullish();

export const networkFields = z.looseObject({ allowOut: list, denyOut: list });
export const networkBody = networkFields.extend({ allow_internet_access: z.boolean().nullish() });

/** Undefined: as the template has it. Throws 501 for what this box cannot do, since silence would look like consent. */
export function toNetworkChoice(
  network: z.output<typeof networkFields> | null | undefined,
  internet: boolean | null | undefined,
): NetworkChoice | undefined {
  const { allowOut, denyOut, ...rest } = network ?? {};
  const others = Object.entries(rest).filter(
    ([name, value]) => isSet(value) && name !== 'allowPublicTraffic' && name !== 'allow_internet_access',
  );
  const missing = [
    ...others.map(([name]) => `network.${name}`),
    ...((denyOut ?? []).some((entry) => !everything.has(entry)) ? ['network.denyOut with anything but 0.0.0.0/0'] : []),
    ...((allowOut ?? []).some((entry) => entry.includes('/') && !everything.has(entry)) ? ['network.allowOut with a range'] : []),
  ];
  if (missing.length > 0)
    throw new E2bError(501, `This box does not take ${missing.join(', ')}: it allows hosts by name, and denies all others.`);
  const hosts = (allowOut ?? []).filter((entry) => !everything.has(entry));
  if (hosts.length > 0) return { mode: 'allow', allow: hosts };
  const open = (allowOut ?? []).length > 0;
  return !open && (internet === false || (denyOut ?? []).length > 0) ? { mode: 'none' } : undefined;
}

export function toNetworkInfo({ network, network_allow }: Sandbox): unknown {
  if (network === 'full') return {};
  return { allowOut: network_allow.map((rule) => (typeof rule === 'string' ? rule : rule.host)), denyOut: ['0.0.0.0/0'] };
}

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'object' && Object.keys(value).length === 0);
