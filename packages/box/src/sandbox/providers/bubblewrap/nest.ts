/**
 * A nest: a sandbox in which runs of one tenant and one skill version are cloned, one after the other, each into namespaces, a
 * work area and a filter of its own. Its parent runs no code of a skill and holds nothing of a job. It has the uid and the cgroup
 * of one sandbox, so that it serves one run at a time; what remains of a run is gone before the next one is there.
 */

import type { RunRequest, WarmRecipe } from '../../provider.ts';
import { becomeFrame, nestFrame } from '../guest/channel.ts';
import { type OneShot, prepare, prepareNext, type Standing, type Waiter } from '../guest/run-once.ts';
import { nestSettings } from './command.ts';
import { type Launched, oneShotIn } from './launcher.ts';
import type { Ready } from './warm.ts';

export interface Nest extends Ready {
  /** The run that is ready now. */
  readonly standing: Standing;
  /** For the next run. */
  weigh(share: number): void;
}

type NestShape = Pick<RunRequest, 'argv' | 'limits' | 'skillFolder' | 'dependencies'>;

export interface NestParts {
  /** A launcher with its orders. */
  open(shape: NestShape): { readonly launched: Launched; dispose(): Promise<boolean> };
  /** What every run is held by. */
  readonly filter: Buffer;
  onWarning(message: string): void;
}

export interface Nests {
  /** `copies`: its runs begin as copies of one interpreter, where the language allows that. */
  make(shape: NestShape, recipe: WarmRecipe, copies: boolean): Promise<Nest>;
  /** Ends those that are being made. */
  close(): Promise<void>;
}

export function createNests({ filter, onWarning, open }: NestParts): Nests {
  /** Being made: ended when nobody waits for them any more. */
  const coming = new Set<() => Promise<boolean>>();

  const make = async (shape: NestShape, recipe: WarmRecipe, copies: boolean): Promise<Nest> => {
    const { launched, dispose } = open(shape);
    coming.add(dispose);
    try {
      const { cgroup, channel } = launched;
      let peakIsKnown = true;
      const sandbox: OneShot = { ...oneShotIn(launched), peakMemory: () => (peakIsKnown ? cgroup.readPeakMemory() : 0) };
      const waiter: Waiter | undefined = copies ? { cloned: true } : waiterOf(shape.argv, recipe);
      if (copies) channel.write(becomeFrame(shape.argv, parentEnv(recipe), '/'));
      channel.write(nestFrame(nestSettings(shape, filter)));
      let standing = await prepare(sandbox, waiter, launched.nextTurn);
      return {
        copies,
        ended: launched.ended,
        readMemory: () => cgroup.readMemory(),
        weigh: (share) => cgroup.weigh(share),
        get standing() {
          return standing;
        },
        async renew() {
          standing = await prepareNext(standing, waiter, launched.nextTurn);
          peakIsKnown = cgroup.resetPeakMemory();
        },
        dispose,
      };
    } catch (error) {
      await dispose();
      throw error;
    } finally {
      coming.delete(dispose);
    }
  };

  return {
    async make(shape, recipe, copies) {
      if (!copies || recipe.lang !== 'python') return make(shape, recipe, false);
      try {
        return await make(shape, recipe, true);
      } catch (error) {
        onWarning(`an interpreter could not be copied, each run starts its own: ${(error as Error).message}`);
        return make(shape, recipe, false);
      }
    },
    async close() {
      await Promise.all([...coming].map((dispose) => dispose()));
    },
  };
}

const warmFolder = '/etc/skillbox';

/** How an interpreter is held until its job comes. Bash starts so quickly that only its sandbox is made ahead. */
function waiterOf(argv: readonly string[], recipe: WarmRecipe): Waiter | undefined {
  if (recipe.lang === 'bash') return undefined;
  if (recipe.lang === 'node')
    return { argv, env: { ...recipe.env, NODE_OPTIONS: `--require ${warmFolder}/node.cjs`, SKILLBOX_MODULES: recipe.modules.join(',') } };
  return { argv, env: pythonEnv(recipe) };
}

/** A parent finds nothing but the interpreter's own modules: packages of the skill are looked for in its runs only. */
function parentEnv(recipe: WarmRecipe): Record<string, string> {
  return { ...pythonEnv(recipe), PYTHONPATH: `${warmFolder}/python`, SKILLBOX_PATH: recipe.env.PYTHONPATH ?? '', SKILLBOX_NEST: '1' };
}

function pythonEnv({ env, modules, preload }: WarmRecipe): Record<string, string> {
  const path = [`${warmFolder}/python`, env.PYTHONPATH].filter(Boolean).join(':');
  return { ...env, PYTHONPATH: path, SKILLBOX_PRELOAD: preload.join(','), SKILLBOX_MODULES: modules.join(',') };
}
