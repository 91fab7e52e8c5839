/** Snapshots of disks: taken under a record that is hidden until they are whole, and kept as long as something stands on them. */

import { BoxError } from '@skillbox/protocol';
import type { Hosts } from '../hosts.ts';
import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import type { SandboxRow, SnapshotRow } from '../store/tables.ts';
import { elsewhere } from './elsewhere.ts';
import { newSnapshotId } from './ids.ts';
import { wrongState } from './lifecycle.ts';
import type { Capability } from './living.ts';
import type { Providers } from './routing.ts';
import { lineageOf, type SnapshotRecords } from './snapshot-records.ts';
import { handleOf, providerOf } from './spec.ts';

export interface Snapshots {
  /** The lock of the sandbox is held. `hidden`: for a fork, not for people. */
  take(
    row: SandboxRow,
    options: { readonly name: string | null; readonly hidden: boolean; readonly needs: Capability },
  ): Promise<SnapshotRow>;
  /** One that can be used here; throws not_found and on_another_host. */
  find(tenant: string, id: string): Promise<SnapshotRow>;
  /** Those nothing stands on any more. */
  sweep(): Promise<void>;
}

export interface SnapshotParts {
  readonly host: string;
  readonly hosts: Hosts;
  readonly log: Logger;
  readonly providers: Providers;
  readonly records: SnapshotRecords;
  readonly secrets: Secrets;
}

export function createSnapshots({ host, hosts, log, providers, records, secrets }: SnapshotParts): Snapshots {
  const making = new Set<string>();
  let sweeping: Promise<void> | undefined;

  const sweepOnce = async (): Promise<void> => {
    for (const row of await records.unneeded(host)) {
      if (making.has(row.id)) continue;
      try {
        await providers.get(row.provider)?.removeSnapshot(row.id);
        await records.remove(row.id);
      } catch (error) {
        log.warn({ snapshot: row.id, err: error }, 'a snapshot that nothing needs could not be removed; it is tried again later');
      }
    }
  };

  return {
    async take(row, { name, hidden, needs }) {
      if (row.state !== 'ready' && row.state !== 'paused') throw wrongState(row, 'ready or paused');
      const provider = providerOf(providers, row);
      if (!provider.capabilities.has(needs))
        throw new BoxError('capability_missing', `The provider ${provider.name} of sandbox ${row.id} has no ${needs}.`);
      const lineage = lineageOf(row);
      const snapshot: SnapshotRow = {
        ...{ id: newSnapshotId(), tenant: row.tenant, sandbox: row.id, name, host, hidden: 1 },
        ...{ template_name: row.template_name, template: row.template, provider: provider.name },
        lineage: JSON.stringify(lineage),
        created_at: new Date().toISOString(),
      };
      making.add(snapshot.id);
      try {
        await records.insert(snapshot, [...lineage, snapshot.id]);
        await handleOf(providers, secrets, row).snapshot(snapshot.id);
        if (!hidden) await records.setHidden(snapshot.id, false);
        return { ...snapshot, hidden: hidden ? 1 : 0 };
      } finally {
        making.delete(snapshot.id);
      }
    },

    async find(tenant, id) {
      const row = await records.row(id, tenant);
      if (!row) throw new BoxError('not_found', `There is no snapshot ${id}.`);
      if (row.host !== host) throw await elsewhere(hosts, `The snapshot ${id}`, row.host);
      return row;
    },

    sweep() {
      // A second sweep beside the first would remove what the first is removing.
      sweeping ??= sweepOnce().finally(() => {
        sweeping = undefined;
      });
      return sweeping;
    },
  };
}
