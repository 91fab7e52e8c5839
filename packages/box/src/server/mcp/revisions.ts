/**
 * The revisions of the protocol that the box speaks. Since 2026-07-28 every request says all there is to know; before, a client opens a
 * session with `initialize`. Both are served at one address: how a client begins tells which it speaks.
 */

import { version } from '../../version.ts';

export const modernRevision = '2026-07-28';
/** The first is offered to a client that asks for one we do not have. */
export const sessionRevisions = ['2025-11-25', '2025-06-18'] as const;
export type SessionRevision = (typeof sessionRevisions)[number];
export const allRevisions: readonly string[] = [modernRevision, ...sessionRevisions];

/** Names in `_meta` that the protocol keeps for itself. */
export const metaNames = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscription: 'io.modelcontextprotocol/subscriptionId',
} as const;

export const serverInfo = { name: 'skillbox', title: 'Skillbox', version } as const;

export const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true },
} as const;

/** What a model should know about this server as a whole. */
export const instructions =
  'Tools whose names begin with skill_ run a skill of this box in a fresh sandbox: JSON in, JSON and files out; files and large outputs come as links to resources. Tools whose names begin with skillbox_ work on the box itself: sandboxes that live until they are destroyed, executions, skills. Skills without a program are prompts, and resources to read.';
