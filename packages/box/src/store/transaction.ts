/** Transactions whose participants can wait for the commit before they tell others. */

import type { Kysely, Transaction } from 'kysely';
import type { Tables } from './tables.ts';

type Hook = () => void;

const hooksOf = new WeakMap<Kysely<Tables>, Hook[]>();

export async function runTransaction<T>(kysely: Kysely<Tables>, run: (tx: Transaction<Tables>) => Promise<T>): Promise<T> {
  const hooks: Hook[] = [];
  const result = await kysely.transaction().execute((tx) => {
    hooksOf.set(tx, hooks);
    return run(tx);
  });
  for (const hook of hooks) hook();
  return result;
}

/** Runs the hook once `tx` has committed, never when it rolls back; at once when `tx` is no transaction. */
export function afterCommit(tx: Kysely<Tables>, hook: Hook): void {
  const hooks = hooksOf.get(tx);
  if (hooks) hooks.push(hook);
  else hook();
}
