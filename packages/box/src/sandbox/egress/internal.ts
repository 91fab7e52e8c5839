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
  /** Those of the service's grants that the sandbox has. */
  readonly grants: readonly string[];
  /** What follows the first part, with its slash; and the query. */
  readonly rest: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface InternalService {
  /** Any of these gives a way to it. */
  readonly grants: readonly string[];
  /** Resolves when the answer is over. */
  serve(call: InternalCall): Promise<void>;
}

export type InternalServices = ReadonlyMap<string, InternalService>;

/** Those that need nothing but the sandbox itself; what the box adds is its own to say. */
export const internalServices: InternalServices = new Map([['network', { grants: ['network'], serve: showNetwork }]]);

export async function serveInternal(services: InternalServices, path: string, call: Omit<InternalCall, 'grants' | 'rest'>): Promise<void> {
  const [, name = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(path) ?? [];
  const granted: readonly string[] = call.policy.internal ?? ['network'];
  const service = services.get(name);
  const grants = service?.grants.filter((grant) => granted.includes(grant)) ?? [];
  if (!service || grants.length === 0) {
    const there = [...services].flatMap(([one, { grants: any }]) => (any.some((grant) => granted.includes(grant)) ? `/${one}` : []));
    throw new Refusal(
      'not_found',
      `There is nothing at ${path.slice(0, 100)} of ${internalHost} for this sandbox. There is: ${there.join(', ') || 'nothing'}.`,
    );
  }
  await service.serve({ ...call, grants, rest });
}

/** What this sandbox may reach, for agents who want to know before they try. */
async function showNetwork({ policy, response }: InternalCall): Promise<void> {
  const body = JSON.stringify({ mode: policy.mode, allow: policy.mode === 'none' ? [] : policy.rules.map(({ text }) => text) });
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
