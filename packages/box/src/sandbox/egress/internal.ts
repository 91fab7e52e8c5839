/**
 * What a sandbox finds at http://box.internal/. The channel is the identity: whoever comes through it is that sandbox. Each service
 * is one line in a table, by the first part of the path; the proxy knows none of them.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Who } from './audit.ts';
import { proxyPort } from './environment.ts';
import { Refusal } from './refusal.ts';
import type { Policy } from './rules.ts';

export const internalHost = 'box.internal';

/** Authorities that mean the box itself, in a Host header or a request target. */
export const internalAuthorities: ReadonlySet<string> = new Set([
  internalHost,
  `${internalHost}:80`,
  ...[internalHost, 'localhost', '127.0.0.1'].map((host) => `${host}:${proxyPort}`),
]);

export interface InternalCall {
  readonly who: Who;
  readonly policy: Policy;
  /** What follows the first part, with its slash; and the query. */
  readonly rest: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export type InternalService = (call: InternalCall) => Promise<void>;

export const internalServices: ReadonlyMap<string, InternalService> = new Map([['network', showNetwork]]);

export async function serveInternal(
  services: ReadonlyMap<string, InternalService>,
  path: string,
  call: Omit<InternalCall, 'rest'>,
): Promise<void> {
  const [, name = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(path) ?? [];
  const granted = call.policy.internal ?? ['network'];
  const service = granted.includes(name) ? services.get(name) : undefined;
  if (!service) {
    const there = granted.map((one) => `/${one}`).join(', ') || 'nothing';
    throw new Refusal('not_found', `There is nothing at ${path.slice(0, 100)} of ${internalHost} for this sandbox. There is: ${there}.`);
  }
  await service({ ...call, rest });
}

/** What this sandbox may reach, for agents who want to know before they try. */
async function showNetwork({ policy, response }: InternalCall): Promise<void> {
  const body = JSON.stringify({ mode: policy.mode, allow: policy.mode === 'none' ? [] : policy.rules.map(({ text }) => text) });
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
