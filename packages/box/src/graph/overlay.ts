/** Overlays of clients: found by their folders, read like the manifest. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BoxError, clientPattern } from '@skillbox/protocol';
import { type CheckedDocument, checkDocument } from '../manifest/check-document.ts';
import type { Problem } from '../manifest/finding.ts';
import { nearestName } from '../suggest.ts';
import { type Overlay, overlaySchema } from './schema.ts';

const fileName = 'overlay.yaml';

export interface ReadOverlay extends CheckedDocument<Overlay> {
  readonly client: string;
  readonly file: string;
}

export const overlayFile = (clientsRoot: string, client: string): string => join(clientsRoot, client, fileName);

/** Clients that have an overlay, by name. */
export function findClients(clientsRoot: string): string[] {
  let names: string[];
  try {
    names = readdirSync(clientsRoot);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new BoxError('config_invalid', `The overlays in ${clientsRoot} cannot be listed: ${(error as Error).message}`, {
      cause: error,
      hint: 'Correct SKILLBOX_CLIENTS_HOST_ROOT, or the permissions of the folder.',
    });
  }
  return names.filter((name) => clientPattern.test(name) && isFile(overlayFile(clientsRoot, name))).sort();
}

export function readOverlay(clientsRoot: string, client: string, clients: readonly string[]): ReadOverlay {
  if (!clients.includes(client)) throw clientMissing(client, clients, clientsRoot);
  const file = overlayFile(clientsRoot, client);
  const checked = checkDocument(readFileSync(file, 'utf8'), file, overlaySchema, ({ client: { id } }): Problem[] => {
    if (id === client) return [];
    return [{ code: 'graph.client_mismatch', path: ['client', 'id'], message: `client.id is ${id}, the folder is called ${client}` }];
  });
  return { ...checked, client, file };
}

export function clientMissing(client: string, clients: readonly string[], clientsRoot: string): BoxError {
  const meant = nearestName(client, clients);
  const there = clients.length > 0 ? `There are: ${clients.join(', ')}` : 'There is none';
  return new BoxError('client_not_found', `There is no client ${client}. ${there}.`, {
    hint: meant ? `Did you mean ${meant}?` : `A new one is ${overlayFile(clientsRoot, client)}.`,
    details: { client, clients },
  });
}

/** Also where a file lies in the place of the folder. */
const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();
