/** Which box a command talks to, and with which key. The local administrator's key never leaves for another box. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Config } from '../config.ts';
import { adminKeyFile, reachable, readServerRecord } from '../state.ts';
import { listenerUid } from './listener.ts';

export interface Connection {
  /** Without a slash at the end. */
  readonly url: string;
  readonly key: string | undefined;
  readonly tenant: string | undefined;
}

type ConnectionConfig = Pick<Config, 'serverUrl' | 'apiKey' | 'tenant' | 'stateRoot' | 'bind' | 'port'>;

export function findConnection(config: ConnectionConfig): Connection {
  const record = readServerRecord(config.stateRoot);
  const local = reachable(record?.url ?? urlOf(config.bind, config.port));
  const url = (config.serverUrl ?? local).replace(/\/+$/, '');
  const { tenant } = config;
  if (config.apiKey !== undefined) return { url, key: config.apiKey, tenant };
  const isLocal = originOf(url) === originOf(local) && (record !== undefined || isOurs(config));
  return { url, key: isLocal ? readAdminKey(config.stateRoot) : undefined, tenant };
}

export const urlOf = (bind: string, port: number): string => `http://${bind.includes(':') ? `[${bind}]` : bind}:${port}`;

/**
 * No record says that our server runs, yet one may (in a container, say). Whoever got the port in the meantime would be
 * handed the administrator's key: it goes only to a listener that root or the owner of the key runs, and on loopback.
 */
function isOurs({ bind, port, stateRoot }: ConnectionConfig): boolean {
  const file = adminKeyFile(stateRoot);
  if (!existsSync(file) || !isLoopback(reachable(urlOf(bind, port)))) return false;
  const uid = listenerUid(port);
  return uid === undefined || uid === 0 || uid === statSync(file).uid;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}

/** localhost and 127.0.0.1 are two names of one place. */
function originOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${protocol}//${hostname === 'localhost' ? '127.0.0.1' : hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

function readAdminKey(stateRoot: string): string | undefined {
  const file = adminKeyFile(stateRoot);
  if (!existsSync(file)) return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    // The box of another user: the answer without a key will say that one is needed.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    throw error;
  }
}
