/** Where an execution waits: for its dependencies while they are installed, then for a slot. Who waits for packages holds no slot. */

import { BoxError } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import type { Skill } from '../skills/catalog.ts';
import type { Dependencies } from '../skills/dependencies/dependencies.ts';
import { isWaiting, type Slot, type Slots, type Waiting } from './slots.ts';

export interface Places {
  /** A slot at once, or a place in the queue. Throws queue_full, and dependencies_failed when it is known that they cannot be had. */
  request(skill: Skill, options: PlaceOptions): Promise<Slot | Waiting>;
}

export interface PlaceOptions {
  readonly signal: AbortSignal;
  /** Nobody holds a connection open for it: it may wait as long as a build may take. */
  readonly patient: boolean;
  readonly unbounded?: boolean;
}

export interface PlaceParts {
  readonly config: Config;
  readonly slots: Slots;
  readonly dependencies: Pick<Dependencies, 'check' | 'wait'>;
}

export function createPlaces({ config, slots, dependencies }: PlaceParts): Places {
  const waiting = new Map<string, number>();
  const count = (tenant: string, more: number): void => {
    const number = (waiting.get(tenant) ?? 0) + more;
    if (number > 0) waiting.set(tenant, number);
    else waiting.delete(tenant);
  };

  const afterBuild = async (skill: Skill, { signal, patient }: PlaceOptions): Promise<Slot> => {
    count(skill.tenant, 1);
    try {
      const timeoutMs = config.queueTimeout + (patient ? config.buildTimeout : 0);
      await dependencies.wait(skill, { signal, timeoutMs });
    } finally {
      count(skill.tenant, -1);
    }
    // It has waited its turn already: a queue that is full now is no reason to refuse it.
    const place = slots.request(skill.tenant, { signal, timeoutMs: config.queueTimeout, unbounded: true });
    return isWaiting(place) ? place.slot : place;
  };

  return {
    async request(skill, options) {
      const { signal, unbounded = false } = options;
      const ready = skill.lock === null || (await dependencies.check(skill)) === 'available';
      if (ready) return slots.request(skill.tenant, { signal, timeoutMs: config.queueTimeout, unbounded });
      const all = [...waiting.values()].reduce((sum, number) => sum + number, 0);
      const own = waiting.get(skill.tenant) ?? 0;
      if (!unbounded && (all >= config.queueSize || own >= config.tenantQueueSize)) {
        throw new BoxError('queue_full', `${own} executions of this tenant and ${all} in all are waiting for dependencies already.`, {
          retryAfter: 5,
        });
      }
      const slot = afterBuild(skill, options);
      // Whoever waits handles a refusal when it gets to it; until then it must not count as unhandled.
      slot.catch(() => undefined);
      return { slot };
    },
  };
}
