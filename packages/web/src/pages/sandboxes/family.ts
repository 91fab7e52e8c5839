/** Where disks came from, as a tree: a sandbox, the snapshots taken of it, and the sandboxes that began with one of them or were forked. */

import type { Sandbox, Snapshot } from '@skillbox/sdk';

export type Member =
  | { readonly kind: 'sandbox'; readonly id: string; readonly record: Sandbox | undefined; readonly children: readonly Member[] }
  | { readonly kind: 'snapshot'; readonly id: string; readonly record: Snapshot | undefined; readonly children: readonly Member[] };

/** The whole family of one sandbox, from its oldest forebear. What is no longer known stands there without a record. */
export function familyOf(id: string, sandboxes: readonly Sandbox[], snapshots: readonly Snapshot[]): Member {
  const known = new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox]));
  const seen = new Set<string>();

  let root = id;
  for (const passed = new Set<string>(); !passed.has(root); ) {
    passed.add(root);
    root = known.get(root)?.origin?.sandbox ?? root;
  }

  const sandboxNode = (of: string): Member => {
    seen.add(of);
    const born = sandboxes.filter(({ origin, id: own }) => origin?.sandbox === of && !seen.has(own));
    const taken = snapshots.filter(({ sandbox }) => sandbox === of).map(({ id: own }) => own);
    // One that was deleted still has those that began with it.
    const gone = born.flatMap(({ origin }) => (origin?.snapshot && !taken.includes(origin.snapshot) ? [origin.snapshot] : []));
    const children: Member[] = [
      ...[...taken, ...new Set(gone)].map(
        (snapshot): Member => ({
          kind: 'snapshot',
          id: snapshot,
          record: snapshots.find(({ id: own }) => own === snapshot),
          children: born.filter(({ origin }) => origin?.snapshot === snapshot).map(({ id: own }) => sandboxNode(own)),
        }),
      ),
      ...born.filter(({ origin }) => origin?.snapshot === null).map(({ id: own }) => sandboxNode(own)),
    ];
    return {
      kind: 'sandbox',
      id: of,
      record: known.get(of),
      children: children.sort((one, other) => timeOf(one).localeCompare(timeOf(other))),
    };
  };
  return sandboxNode(root);
}

const timeOf = ({ record }: Member): string => record?.created_at ?? '';
