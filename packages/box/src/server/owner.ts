/** Which host a request belongs to: that of the sandbox it is about, or of the execution whose live output it wants. */

import type { IncomingMessage } from 'node:http';
import { type Execution, isFinal, sandboxIdPattern } from '@skillbox/protocol';
import type { Box } from '../box.ts';
import { whose } from './e2b/data-plane.ts';
import { sandboxOfHost } from './e2b/hosts.ts';
import { previewTarget } from './preview.ts';

export interface Owner {
  readonly host: string;
  /** Known by the signature alone, which the owner would have to search for again. */
  readonly signedFor?: string;
  /** What the owner says on a stream is in words of ours. */
  readonly words: 'v1' | 'e2b' | 'execution' | 'preview';
}

type About = Pick<Owner, 'signedFor' | 'words'> & { readonly sandbox: string };

/** The database in a file has one host. */
export const mayBelongElsewhere = ({ store }: Box): boolean => store.database.kind !== 'sqlite';

/** undefined when this host can answer. Whether the caller may ask is the question of whoever answers. */
export async function ownerOf(box: Box, request: IncomingMessage): Promise<Owner | undefined> {
  if (!mayBelongElsewhere(box)) return undefined;
  const execution = /^\/v1\/executions\/([0-9a-f-]{36})\/events$/.exec(pathOf(request))?.[1];
  if (execution !== undefined) return ownerOfExecution(box, execution);
  const { sandbox, ...about } = (await aboutOf(box, request)) ?? { sandbox: '', words: 'v1' };
  if (!sandboxIdPattern.test(sandbox)) return undefined;
  const host = await box.sandboxes.hostOf(sandbox);
  return host === undefined || host === box.host ? undefined : { host, ...about };
}

/** Path and query: a request line may name a whole address, and only this part of it is the caller's to choose. */
export function targetOf({ url = '/' }: IncomingMessage): string {
  if (url.startsWith('/')) return url;
  const { pathname, search } = URL.canParse(url) ? new URL(url) : new URL('http://host/');
  return pathname + search;
}

const pathOf = (request: IncomingMessage): string => targetOf(request).split('?', 1)[0] ?? '/';

async function ownerOfExecution(box: Box, id: string): Promise<Owner | undefined> {
  const row = await box.records.row(id, undefined);
  // What has ended is in the database.
  if (!row || row.host === box.host || isFinal(row.status as Execution['status'])) return undefined;
  return { host: row.host, words: 'execution' };
}

async function aboutOf(box: Box, request: IncomingMessage): Promise<About | undefined> {
  const preview = previewTarget(box, request);
  if (preview) return { sandbox: preview.sandbox, words: 'preview' };
  const ofHost = sandboxOfHost(request.headers.host);
  if (ofHost) return { sandbox: ofHost, words: 'e2b' };
  const path = pathOf(request);
  const [, v1 = '', below = ''] = /^\/v1\/sandboxes\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (v1) return isRecord(request, below, ['', '/events']) ? undefined : { sandbox: v1, words: 'v1' };
  const [, e2b = '', control = ''] = /^\/e2b(?:\/v2)?\/sandboxes\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (e2b) return isRecord(request, control, ['']) ? undefined : { sandbox: e2b, words: 'e2b' };
  const named = request.headers['e2b-sandbox-id'];
  if (typeof named === 'string' && (path.startsWith('/e2b/') || path === '/files')) return { sandbox: named, words: 'e2b' };
  return path === '/files' || path === '/e2b/files' ? signedAbout(box, request) : undefined;
}

/** Records are in the database, which all hosts share. */
const isRecord = ({ method }: IncomingMessage, below: string, records: readonly string[]): boolean =>
  (method === 'GET' || method === 'HEAD') && records.includes(below);

async function signedAbout(box: Box, request: IncomingMessage): Promise<About | undefined> {
  const query = new URLSearchParams(targetOf(request).split('?')[1] ?? '');
  try {
    const { id } = await whose({ box, path: '/files', method: request.method ?? 'GET', sandbox: undefined, request, query });
    return { sandbox: id, signedFor: id, words: 'e2b' };
  } catch {
    // A signature that nobody made: this host says so as well as any other.
    return undefined;
  }
}
