/**
 * Where deliveries may go. Names are resolved as the egress proxy does it, off the threads that the server shares, and judged on
 * the address that is connected to: a name may mean another one a moment later.
 */

import { isIP, type LookupFunction } from 'node:net';
import { createGuard, kindOf } from '../../sandbox/egress/addresses.ts';
import { Refusal } from '../../sandbox/egress/refusal.ts';
import { createResolver, type Resolve } from '../../sandbox/egress/resolver.ts';

export interface Destination {
  readonly lookup: LookupFunction;
  /** Why this address must not be asked for at all: its host is itself an address that is closed. No resolver is asked for those. */
  refusal(url: string): string | undefined;
}

export interface Destinations {
  /** For what an operator says. */
  readonly anywhere: Destination;
  /** For what a tenant says: nothing of this machine, its networks, or the metadata of clouds. */
  readonly internet: Destination;
}

const guard = createGuard({ privateHosts: [], ownPorts: () => new Set() });

export function createDestinations(resolve: Resolve = createResolver([])): Destinations {
  return {
    anywhere: { lookup: lookupBy(resolve, () => undefined), refusal: () => undefined },
    internet: {
      lookup: lookupBy(resolve, closed),
      refusal(url) {
        const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
        return isIP(host) === 0 ? undefined : closed(host, host);
      },
    },
  };
}

type Judge = (host: string, address: string) => string | undefined;

function closed(host: string, address: string): string | undefined {
  try {
    guard.check({ text: host, isAddress: isIP(host) !== 0 }, address, 0);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const kind = kindOf(address);
    return `${host} is not on the internet: ${address} is ${kind === 'public' ? 'of this machine' : `a ${kind} address`}`;
  }
}

function lookupBy(resolve: Resolve, judge: Judge): LookupFunction {
  const find = async (host: string) => {
    const addresses = await resolve(host);
    const open = addresses.filter((address) => judge(host, address) === undefined);
    const [refused = ''] = addresses;
    if (open.length === 0) throw new Error(judge(host, refused) ?? `${host} has no address`);
    return open.map((address) => ({ address, family: isIP(address) }));
  };
  return (host, { all }, callback) => {
    find(host).then(
      (found) => (all ? callback(null, found) : callback(null, found[0]?.address ?? '', found[0]?.family)),
      (error: Error) => callback(error, ''),
    );
  };
}
