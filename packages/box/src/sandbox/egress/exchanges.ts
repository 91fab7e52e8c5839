/** What one sandbox has under way: asked of the policy at its start, after the connection stands, and whenever the policy changes. */

import type { Socket } from 'node:net';
import type { Audit, Who } from './audit.ts';
import { spellHost } from './hosts.ts';
import type { EgressCounters } from './proxy.ts';
import { Refusal } from './refusal.ts';
import { type Ask, decide, type Policy, type Rule } from './rules.ts';

export interface Exchange {
  readonly rule: Rule;
  /** It is connected to that address, for as long as the policy allows it. */
  begin(upstream: Socket, address: string, more?: Readonly<Record<string, unknown>>): void;
  /** Once; `reason` when it did not end by itself. */
  end(reason?: string): void;
}

export interface Exchanges {
  /** Throws a Refusal, which is noted. `cut` ends it when the policy no longer allows it. */
  open(ask: Ask, cut: () => void): Exchange;
  /** What was refused after it had been opened, or before there was anything to ask. */
  refused(what: Readonly<Record<string, unknown>>, refusal: Refusal): void;
  change(policy: Policy): void;
  readonly policy: Policy;
}

export function createExchanges(who: Who, first: Policy, audit: Audit, counters: EgressCounters): Exchanges {
  let policy = first;
  let serial = 0;
  const open = new Set<{ readonly ask: Ask; cut(): void }>();

  const refused: Exchanges['refused'] = (what, { reason, message }) => {
    counters.refused(reason);
    audit.note(who, 'refused', { ...what, reason, message });
  };

  return {
    refused,
    get policy() {
      return policy;
    },
    open(ask, cut) {
      const rule = decide(policy, ask);
      serial += 1;
      const exchange = serial;
      let connected: { readonly upstream: Socket; readonly since: number } | undefined;
      let ended = false;
      const entry = {
        ask,
        cut() {
          made.end('cut');
          cut();
        },
      };
      open.add(entry);
      const made: Exchange = {
        rule,
        begin(upstream, address, more = {}) {
          // It may have changed while the name was resolved and the connection made.
          decide(policy, ask);
          if (ended) throw new Refusal('not_allowed', 'The network of this sandbox was changed meanwhile.');
          connected = { upstream, since: Date.now() };
          counters.allowed();
          audit.note(who, 'allowed', { exchange, ...facts(ask), address, rule: rule.text, ...more });
        },
        end(reason) {
          if (ended) return;
          ended = true;
          open.delete(entry);
          if (!connected) return;
          const { upstream, since } = connected;
          const bytes = { bytes_sent: upstream.bytesWritten, bytes_received: upstream.bytesRead };
          counters.bytes(bytes.bytes_sent, bytes.bytes_received);
          audit.note(who, 'ended', { exchange, ...facts(ask), ...bytes, ms: Date.now() - since, ...(reason && { reason }) });
        },
      };
      return made;
    },
    change(next) {
      policy = next;
      for (const entry of [...open]) {
        try {
          decide(policy, entry.ask);
        } catch {
          // What is no longer allowed ends.
          entry.cut();
        }
      }
    },
  };
}

/** For the record. Of a path without its query, which may hold secrets, the beginning. */
export function facts({ method, host, port, path }: Ask): Record<string, unknown> {
  return { method, host: spellHost(host), port, ...(path !== undefined && { path: path.slice(0, 500) }) };
}
