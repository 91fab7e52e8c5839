/** Where the other hosts of the box are: what their leases say, remembered for a moment. */

import type { Leases } from './store/leases.ts';

export interface Hosts {
  /** undefined when its lease has run out, or somebody is closing its work. `anew`: not from memory, it may have moved. */
  addressOf(host: string, anew?: boolean): Promise<string | undefined>;
}

export const hostLease = (host: string): string => `host/${host}`;

const rememberedMs = 1000;

export function createHosts(leases: Pick<Leases, 'list'>): Hosts {
  const known = new Map<string, { readonly at: number; readonly address: Promise<string | undefined> }>();

  const look = async (host: string): Promise<string | undefined> => {
    const leased = await leases.list(hostLease(host));
    // Whoever closes the work of a host that is gone holds its lease, with the address it had.
    const own = leased.find((lease) => lease.name === hostLease(host) && lease.owner === host && !lease.expired);
    return typeof own?.data.url === 'string' ? own.data.url : undefined;
  };

  return {
    addressOf(host, anew = false) {
      const before = known.get(host);
      if (before && !anew && performance.now() - before.at < rememberedMs) return before.address;
      const address = look(host);
      known.set(host, { at: performance.now(), address });
      // What could not be read is not remembered.
      address.catch(() => known.delete(host));
      return address;
    },
  };
}
