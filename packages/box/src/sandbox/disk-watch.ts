/** Looks every second at the disks of what runs. A provider ends what has outgrown its disk; here that becomes an event. */

import type { Events } from '../events/events.ts';
import type { Logger } from '../observe/log.ts';
import { boxActor, type SandboxRecords } from './records.ts';
import type { Providers } from './routing.ts';

export interface DiskWatch {
  start(): void;
  stop(): Promise<void>;
}

export interface DiskWatchParts {
  readonly events: Events;
  readonly log: Logger;
  readonly providers: Providers;
  readonly records: SandboxRecords;
}

const everyMs = 1000;

export function createDiskWatch({ events, log, providers, records }: DiskWatchParts): DiskWatch {
  let ticker: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    for (const provider of providers.values()) {
      for (const { sandbox, ...data } of (await provider.endOvergrown?.()) ?? []) {
        const row = await records.row(sandbox);
        if (!row) continue;
        log.warn({ sandbox, ...data }, 'a sandbox outgrew its disk: what ran in it was ended');
        await events.append({
          tenant: row.tenant,
          actor: boxActor,
          subject: { type: 'sandbox', id: sandbox },
          type: 'sandbox.disk_full',
          data,
        });
      }
    }
  };

  return {
    start() {
      ticker ??= setInterval(() => {
        looking ??= look()
          .catch((error: Error) => log.error({ err: error }, 'could not look at the disks of sandboxes'))
          .finally(() => {
            looking = undefined;
          });
      }, everyMs);
      ticker.unref();
    },
    async stop() {
      clearInterval(ticker);
      await looking;
    },
  };
}
