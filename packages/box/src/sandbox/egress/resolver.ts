/**
 * Names to addresses, done by the box: the inside has no DNS. By c-ares and not by the system's function, whose four threads
 * the whole server shares: a name server that never answers would stop more than one sandbox.
 */

import { promises as dns } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import { Refusal } from './refusal.ts';

/** All addresses of a name; throws unresolved. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const hostsFile = '/etc/hosts';
/** Many answers are one answer too many to try. */
const mostAnswers = 32;

/** `servers` are address or address:port; those of the system when there are none. */
export function createResolver(servers: readonly string[]): Resolve {
  const resolver = new dns.Resolver({ timeout: 2000, tries: 2 });
  try {
    if (servers.length > 0) resolver.setServers(servers);
  } catch (cause) {
    throw new BoxError('config_invalid', `SKILLBOX_EGRESS_DNS is not usable: ${(cause as Error).message}`, { cause });
  }
  const hosts = createHostsReader();
  return async (name) => {
    const local = hosts().get(name);
    if (local) return local;
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found.slice(0, mostAnswers);
    const failure = answers.find((answer) => answer.status === 'rejected')?.reason as NodeJS.ErrnoException | undefined;
    throw new Refusal('unresolved', `The name ${name} could not be resolved: ${failure?.code ?? 'no answer'}.`, { cause: failure });
  };
}

/** Read again when it has changed. */
function createHostsReader(): () => ReadonlyMap<string, string[]> {
  let seen = -1;
  let table = new Map<string, string[]>();
  return () => {
    const changed = statSync(hostsFile, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (changed === seen) return table;
    seen = changed;
    table = new Map();
    if (changed === 0) return table;
    for (const line of readFileSync(hostsFile, 'utf8').split('\n')) {
      const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
      if (!address) continue;
      for (const name of names) table.set(name.toLowerCase(), [...(table.get(name.toLowerCase()) ?? []), address]);
    }
    return table;
  };
}
