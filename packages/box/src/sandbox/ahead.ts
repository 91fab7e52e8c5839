/**
 * Living sandboxes that are made before anybody asks for them, so that a create is a hand-over. One is made from a version of a template
 * alone and belongs to nobody: it has an id and no record. Whose it is, its env and its time come with the hand-over.
 */

import { createHash } from 'node:crypto';
import type { Template } from '@skillbox/protocol';
import type { Logger } from '../observe/log.ts';
import { newSandboxId } from './ids.ts';
import type { LivingProvider, NetworkMode, SandboxAhead } from './living.ts';
import type { Providers } from './routing.ts';
import { runSetup } from './setup.ts';
import { sharedSpec } from './spec.ts';
import type { Ready, Stock, StockState } from './stock.ts';
import { isWorkspace } from './workspace/template.ts';

export interface Ahead {
  /** Notes the demand; undefined when none stands ready, or none may: then the create makes its own. */
  take(wanted: WantedAhead): TakenAhead | undefined;
  /** Those in doubt: whose record is there after all is handed over, the others go. */
  settle(hasRecord: (id: string) => Promise<boolean>): Promise<void>;
  /** For a create that makes its own: it comes before what is made ahead. */
  standBack<R>(work: () => Promise<R>): Promise<R>;
  /** Creates that make their own now. */
  readonly ordinary: number;
  /** Whether it is one of these: no record owns it, and it is no orphan. */
  holds(id: string): boolean;
  readonly state: StockState & {
    readonly templates: readonly { readonly template: string; readonly ready: number; readonly wanted: number }[];
  };
}

/** What a create asks for, as far as it decides whether one made ahead can serve it. */
export interface WantedAhead {
  readonly template: Template;
  readonly network: NetworkMode;
  readonly env: Readonly<Record<string, string>>;
}

/** Until it is handed over nothing of whoever took it may get into it. */
export interface TakenAhead {
  readonly id: string;
  readonly provider: LivingProvider;
  readonly ref: SandboxAhead['ref'];
  /** Programs that its setup has run. */
  readonly programs: number;
  /** Its record is there. */
  handOver(): void;
  /** Nobody can say whether its record is there: the next look does. */
  doubt(): void;
  /** For the next create, unless one of the others was called. */
  putBack(): void;
}

export interface AheadParts {
  readonly stock: Stock<Standing>;
  readonly providers: Providers;
  readonly log: Logger;
  /** Why one more sandbox does not fit on this machine. */
  room(): Promise<string | undefined>;
}

export interface Standing extends Ready {
  readonly id: string;
  readonly provider: LivingProvider;
  readonly sandbox: SandboxAhead;
}

export function createAhead({ log, providers, room, stock }: AheadParts): Ahead {
  const held = new Set<string>();
  const doubtful = new Map<string, Standing>();
  let ordinary = 0;

  const handOver = ({ id, sandbox }: Standing): void => {
    sandbox.handOver();
    held.delete(id);
  };

  const make = async (
    provider: LivingProvider,
    makeAhead: NonNullable<LivingProvider['makeAhead']>,
    template: Template,
  ): Promise<Standing> => {
    const lack = await room();
    if (lack !== undefined) throw new Error(lack);
    const id = newSandboxId();
    // Before it exists: whoever looks for orphans meanwhile must not find one.
    held.add(id);
    try {
      const sandbox = await makeAhead(sharedSpec(id, template));
      const dispose = async (): Promise<boolean> => {
        try {
          await sandbox.handle.teardown();
          return true;
        } catch (error) {
          log.error({ sandbox: id, err: error }, 'a sandbox that stood ready could not be removed; it is an orphan from here on');
          return false;
        } finally {
          held.delete(id);
        }
      };
      let programs = 0;
      try {
        await runSetup(sandbox.handle, template.setup, () => ++programs);
      } catch (error) {
        await dispose();
        throw error;
      }
      return { id, provider, sandbox, ended: sandbox.ended, readMemory: sandbox.readMemory, dispose };
    } catch (error) {
      held.delete(id);
      throw error;
    }
  };

  return {
    take({ template, network, env }) {
      const provider = providers.get(template.providers[0] ?? '');
      const makeAhead = provider?.makeAhead;
      if (!provider || !makeAhead || !isShared(template, network, env)) return undefined;
      const key = keyOf(template);
      const taken = stock.take(key, () => make(provider, makeAhead, template));
      if (!taken) return undefined;
      if (!taken.sandbox.isWhole()) {
        void taken.dispose();
        return undefined;
      }
      let settled = false;
      const once = (work: () => void) => () => {
        if (!settled) work();
        settled = true;
      };
      return {
        ...{ id: taken.id, provider, ref: taken.sandbox.ref, programs: template.setup.length },
        handOver: once(() => handOver(taken)),
        doubt: once(() => doubtful.set(taken.id, taken)),
        putBack: once(() => stock.putBack(key, taken)),
      };
    },
    async settle(hasRecord) {
      for (const [id, standing] of doubtful) {
        if (await hasRecord(id)) handOver(standing);
        else await standing.dispose();
        doubtful.delete(id);
      }
    },
    async standBack(work) {
      ordinary += 1;
      try {
        return await work();
      } finally {
        ordinary -= 1;
      }
    },
    get ordinary() {
      return ordinary;
    },
    holds: (id) => held.has(id),
    get state() {
      const templates = stock.each().map(({ key, ready, wanted }) => ({ template: key.split(' ')[0] ?? '', ready, wanted }));
      return { ...stock.state, templates };
    },
  };
}

/**
 * Whether every create of the template starts from the same: a way out is opened for one sandbox and tenant, and setup steps see the
 * env of their create. The workspace has folders that only its own create gives it.
 */
function isShared(template: Template, network: NetworkMode, env: WantedAhead['env']): boolean {
  return network === 'none' && !isWorkspace(template) && (template.setup.length === 0 || Object.keys(env).length === 0);
}

/** Its content too: of a declared template only the operator counts versions. */
function keyOf(template: Template): string {
  return `${template.name}@${template.version} ${createHash('sha256').update(JSON.stringify(template)).digest('hex')}`;
}
