/** The way out for all sandboxes of this host: a channel and a proxy for each, opened with it, changed while it lives, gone with it. */

import { BoxError } from '@skillbox/protocol';
import type { Events } from '../../events/events.ts';
import type { Logger } from '../../observe/log.ts';
import { createGuard, parsePrivateHosts } from './addresses.ts';
import { createAudit, type Who } from './audit.ts';
import { createChannels } from './channels.ts';
import type { Injection } from './injection.ts';
import { type InternalServices, internalServices } from './internal.ts';
import { createProxy, type EgressCounters, type EgressProxy } from './proxy.ts';
import { createResolver, type Resolve } from './resolver.ts';
import type { Policy } from './rules.ts';
import { writeTrust } from './trust.ts';

export interface Egress {
  /** What providers bind into a sandbox with a channel. It exists once it was opened. */
  folder(sandbox: string): string;
  /** Idempotent: one that is open gets the policy. */
  open(who: Who, policy: Policy): Promise<void>;
  /** The sandbox is gone. Idempotent. */
  close(sandbox: string): Promise<void>;
  /** Removes what is left of sandboxes that are not named. */
  sweep(keep: ReadonlySet<string>): void;
  /** Connections that are open now. */
  connections(): number;
  /** The server stops; sandboxes live on, without a way out until the next one. */
  stop(): Promise<void>;
}

export interface EgressOptions {
  /** Holds the folders of the channels. */
  readonly folder: string;
  readonly events: Pick<Events, 'append'>;
  readonly log: Logger;
  readonly counters: EgressCounters;
  /** As SKILLBOX_EGRESS_PRIVATE has it. */
  readonly privateHosts: string;
  /** As SKILLBOX_EGRESS_DNS has it. */
  readonly dnsServers: string;
  /** Where the box and its parts listen. */
  ownPorts(): ReadonlySet<number>;
  readonly injection?: Injection;
  /** What sandboxes find at box.internal. Default: what needs nothing but the sandbox itself. */
  readonly services?: InternalServices;
  /** In place of DNS. */
  readonly resolve?: Resolve;
}

export function createEgress(options: EgressOptions): Egress {
  const { counters, events, injection, log } = options;
  const servers = options.dnsServers.split(',').flatMap((part) => part.trim() || []);
  const audit = createAudit({ events, log });
  const channels = createChannels(options.folder);
  const proxies = new Map<string, EgressProxy>();
  const parts = {
    ...{ audit, counters, services: options.services ?? internalServices },
    resolve: options.resolve ?? createResolver(servers),
    guard: createGuard({ privateHosts: parsePrivateHosts(options.privateHosts), ownPorts: options.ownPorts }),
    ...(injection && { injection }),
  };

  return {
    folder: channels.folder,
    async open(who, policy) {
      const known = proxies.get(who.sandbox);
      if (known) {
        known.change(policy);
        return;
      }
      const proxy = createProxy(parts, who, policy);
      proxies.set(who.sandbox, proxy);
      try {
        await channels.open(who.sandbox, proxy.server);
        // Before anything inside can look for it.
        if (policy.tls && injection) writeTrust(channels.folder(who.sandbox), await injection.authority.certificate());
      } catch (cause) {
        proxies.delete(who.sandbox);
        throw new BoxError('sandbox_failed', `The channel of sandbox ${who.sandbox} could not be opened: ${(cause as Error).message}`, {
          cause,
        });
      }
      proxy.server.on('error', (error) => log.error({ sandbox: who.sandbox, err: error }, 'the channel of a sandbox broke'));
    },
    async close(sandbox) {
      const closed = channels.close(sandbox, true);
      proxies.get(sandbox)?.close();
      proxies.delete(sandbox);
      await closed;
    },
    sweep: channels.sweep,
    connections: () => [...proxies.values()].reduce((sum, proxy) => sum + proxy.open, 0),
    async stop() {
      await Promise.all(
        [...proxies].map(async ([sandbox, proxy]) => {
          const closed = channels.close(sandbox, false);
          proxy.close();
          await closed;
        }),
      );
      proxies.clear();
      await audit.stop();
    },
  };
}
