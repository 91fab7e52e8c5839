/** After a crash: what was half made or half ended is closed truthfully, and what no record owns is removed. */

import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import type { SandboxRow } from '../store/tables.ts';
import type { Ahead } from './ahead.ts';
import type { Egress } from './egress/egress.ts';
import type { Lifecycle } from './lifecycle.ts';
import { type HeldSandbox, IncompleteList, type LivingProvider, type SandboxSpec } from './living.ts';
import type { Locks } from './locks.ts';
import { networkOf, policyOf } from './network.ts';
import { boxActor, isLiving, livingStates, type SandboxRecords } from './records.ts';
import type { Providers } from './routing.ts';

export interface RecoveryParts {
  readonly ahead: Pick<Ahead, 'holds'>;
  readonly egress: Egress;
  readonly host: string;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly locks: Locks;
  readonly providers: Providers;
  readonly records: SandboxRecords;
  readonly secrets: Secrets;
}

/** What was made while the database was away: if no record says that it lives, another host or a heartbeat has closed it. */
async function removeUnrecorded({ lifecycle: { unrecorded }, locks, log, records }: RecoveryParts): Promise<void> {
  for (const [id, { provider, ref }] of unrecorded) {
    if (locks.isHeld(id)) continue;
    await locks.exclusive(id, async () => {
      const row = await records.row(id);
      if (row?.state === 'provisioning') return;
      if (row?.state !== 'ready' && row?.state !== 'paused') {
        log.warn({ sandbox: id, provider: provider.name }, 'removing a sandbox that was made while the database was away');
        await provider.open(ref, bareSpec(id, row)).teardown();
      }
      unrecorded.delete(id);
    });
  }
}

/** Of this host. Also while it works: what is under way is left alone. `why` is what kept those that were being made. */
export async function closeUnfinished(parts: RecoveryParts, why: string): Promise<void> {
  const { host, log, lifecycle, locks, records } = parts;
  await removeUnrecorded(parts).catch((error: Error) =>
    log.error({ err: error }, 'a sandbox that was made while the database was away could not be removed; the next heartbeat tries again'),
  );
  for (const { id } of await records.ofHost(host, ['requested', 'provisioning', 'destroying'])) {
    if (locks.isHeld(id)) continue;
    try {
      await locks.exclusive(id, async () => {
        // Whoever worked on it may have come to an end since the list was read.
        const row = await records.row(id);
        if (row?.state === 'destroying') await lifecycle.end(row, boxActor, row.reason ?? 'asked for');
        if (row?.state !== 'requested' && row?.state !== 'provisioning') return;
        await removeHeld(parts, row);
        await lifecycle.fail(row, boxActor, why);
      });
    } catch (error) {
      log.error({ sandbox: id, err: error }, 'what a fault left of a sandbox could not be closed; the next heartbeat tries again');
    }
  }
}

/** It may have been made, and only the record of it could not be written: then no record says where it is. */
async function removeHeld({ log, providers }: RecoveryParts, row: SandboxRow): Promise<void> {
  for (const provider of providers.values()) {
    const { held } = await heldBy(provider, log);
    for (const { sandbox, ref } of held) if (sandbox === row.id) await provider.open(ref, bareSpec(sandbox, row)).teardown();
  }
}

/** Compares what the providers hold with the records, both ways. Also while others work: what they have in hand is left alone. */
export async function compareWithProviders(parts: RecoveryParts): Promise<void> {
  const { ahead, host, log, lifecycle, locks, providers, records } = parts;
  for (const provider of providers.values()) {
    // Before the list: what becomes ready between the two would seem to have no disk.
    const recorded = await records.ofHost(host, ['ready', 'paused']);
    const { held, isComplete } = await heldBy(provider, log);
    for (const { sandbox, ref } of held) {
      // Asked before the record is: one that is handed over meanwhile has one by then.
      if (ahead.holds(sandbox) || locks.isHeld(sandbox)) continue;
      await locks.exclusive(sandbox, async () => {
        const row = await records.row(sandbox);
        // Another host's is that host's business: some providers are shared.
        if (row && (isLiving(row.state) || row.host !== host)) return;
        log.warn({ sandbox, provider: provider.name }, 'removing a sandbox that no record owns');
        await provider
          .open(ref, bareSpec(sandbox, row))
          .teardown()
          .catch((error: Error) => log.error({ sandbox, err: error }, 'a sandbox that no record owns could not be removed'));
      });
    }
    if (!isComplete) continue;
    const there = new Set(held.map(({ sandbox }) => sandbox));
    for (const { id } of recorded.filter((row) => row.provider === provider.name && !there.has(row.id))) {
      if (locks.isHeld(id)) continue;
      await locks.exclusive(id, async () => {
        const row = await records.row(id);
        if (row?.state !== 'ready' && row?.state !== 'paused') return;
        log.warn({ sandbox: id, provider: provider.name }, 'the disk of a sandbox is gone: its record is closed as failed');
        await lifecycle.fail(row, boxActor, 'its disk is gone');
      });
    }
  }
}

/** Sandboxes went on while no server was there; now they have their way out again, under the policy that was recorded. */
export async function reopenChannels({ egress, host, log, records }: RecoveryParts): Promise<void> {
  const rows = await records.ofHost(host, livingStates);
  for (const row of rows.filter(({ state }) => state === 'ready' || state === 'paused')) {
    const network = networkOf(row);
    if (!network.channel) continue;
    try {
      await egress.open({ sandbox: row.id, tenant: row.tenant }, policyOf(row));
    } catch (error) {
      log.error({ sandbox: row.id, err: error }, 'the channel of a sandbox could not be opened again: it has no way out');
    }
  }
  egress.sweep(new Set(rows.map(({ id }) => id)));
}

/** What a provider can say of what it holds. */
export async function heldBy(
  provider: LivingProvider,
  log: Logger,
): Promise<{ readonly held: readonly HeldSandbox[]; readonly isComplete: boolean }> {
  try {
    return { held: await provider.list(), isComplete: true };
  } catch (error) {
    log.error({ provider: provider.name, err: error }, 'a provider could not say all that it holds');
    return { held: error instanceof IncompleteList ? error.held : [], isComplete: false };
  }
}

/** What cannot pay for its next hour. */
export async function endUnpaid({ log, lifecycle, locks, records }: RecoveryParts, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const row = await records.row(id);
    if (!row || locks.isHeld(id)) continue;
    try {
      await locks.exclusive(id, () => lifecycle.end(row, boxActor, 'the credits of its tenant are used up'));
    } catch (error) {
      log.error({ sandbox: id, err: error }, 'a sandbox that cannot pay could not be ended; the next heartbeat tries again');
    }
  }
}

/** A host that is gone took the disks with it. */
export async function failSandboxesOf({ lifecycle, records }: RecoveryParts, gone: string): Promise<void> {
  for (const row of await records.ofHost(gone, livingStates)) await lifecycle.fail(row, boxActor, `its host ${gone} is gone`);
}

/** Enough to tear it down. */
export function bareSpec(id: string, row: SandboxRow | undefined): SandboxSpec {
  return {
    ...{ id, tenant: row?.tenant ?? '', network: 'none', env: {}, options: {} },
    limits: { memoryBytes: 2 ** 26, cpu: 1, processes: 16, openFiles: 1024, diskBytes: 2 ** 20, tmpBytes: 2 ** 20 },
  };
}
