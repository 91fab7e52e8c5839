/** Whether the box can do its work, for the probe and for the log. */

import { statfs } from 'node:fs/promises';
import { BoxError } from '@skillbox/protocol';
import type { Config } from './config.ts';
import type { Provider } from './sandbox/provider.ts';
import type { Store } from './store/store.ts';

export interface ReadinessParts {
  readonly config: Pick<Config, 'stateRoot' | 'minFreeDisk'>;
  readonly provider: Pick<Provider, 'report'>;
  readonly store: { readonly database: Pick<Store['database'], 'ping'>; readonly blobs: Pick<Store['blobs'], 'ping'> };
}

export type CheckName = 'database' | 'blobs' | 'sandboxes' | 'disk';

/** ok, or what is wrong. */
export async function checkReadiness({ config, provider, store }: ReadinessParts): Promise<Record<CheckName, string>> {
  return {
    database: await check(() => store.database.ping()),
    blobs: await check(() => store.blobs.ping()),
    sandboxes: sandboxCheck(provider),
    disk: await diskCheck(config),
  };
}

/** Says that something is wrong, not what: the probe needs no key. The log and doctor have the cause. */
async function check(probe: () => Promise<void>): Promise<string> {
  try {
    await probe();
    return 'ok';
  } catch (error) {
    return error instanceof BoxError ? error.code : 'unavailable';
  }
}

function sandboxCheck({ report }: ReadinessParts['provider']): string {
  if (report.ready) return 'ok';
  const missing = report.layers.filter((layer) => !layer.present && !layer.accepted).map((layer) => layer.name);
  return `missing: ${missing.join(', ')}`;
}

/** Of the state root: sandboxes, blobs and, by default, the database are there. */
async function diskCheck({ stateRoot, minFreeDisk }: ReadinessParts['config']): Promise<string> {
  try {
    const { bavail, bsize, files, ffree } = await statfs(stateRoot);
    // Some file systems do not count files, and say that there are none.
    return bavail * bsize < minFreeDisk || (files > 0 && ffree === 0) ? 'full' : 'ok';
  } catch {
    // A state root that cannot be read is as bad as a full one; the log has the errors of whoever tried to use it.
    return 'unavailable';
  }
}
