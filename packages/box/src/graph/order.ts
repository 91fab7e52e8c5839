/** What needs what: who comes along, in which order, and what may happen at once. */

import { BoxError } from '@skillbox/protocol';

export interface Node {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** These with all they need; all of them when none is named. Throws graph_item_not_found. */
export function withNeeded<N extends Node>(nodes: readonly N[], named: readonly string[], what: string): N[] {
  if (named.length === 0) return [...nodes];
  requireKnown(nodes, named, what);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return spread(nodes, named, (id) => byId.get(id)?.dependsOn ?? []);
}

/** These with all that need them. */
export function withDependents<N extends Node>(nodes: readonly N[], named: readonly string[]): N[] {
  const dependents = dependentsOf(nodes);
  return spread(nodes, named, (id) => dependents.get(id) ?? []);
}

export function requireKnown(nodes: readonly Node[], named: readonly string[], what: string): void {
  const known = new Set(nodes.map(({ id }) => id));
  const missing = named.filter((id) => !known.has(id));
  if (missing.length === 0) return;
  const there = nodes.length > 0 ? `there ${nodes.length === 1 ? 'is' : 'are'} ${some([...known])}` : 'there is none';
  throw new BoxError('graph_item_not_found', `No ${what} ${missing.join(', ')} is selected; ${there}.`, { details: { missing } });
}

/** The same order turned round: each comes after those that need it. */
export function reversed<N extends Node>(nodes: readonly N[]): N[] {
  const dependents = dependentsOf(nodes);
  return nodes.map((node) => ({ ...node, dependsOn: dependents.get(node.id) ?? [] }));
}

/** Those that need none before those that need them; throws graph_invalid for a circle. What is not among them counts as there. */
export function inOrder<N extends Node>(nodes: readonly N[]): N[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const waits = new Map(nodes.map(({ id, dependsOn }) => [id, dependsOn.filter((needed) => byId.has(needed)).length]));
  const dependents = dependentsOf(nodes);
  const ordered = nodes.filter(({ id }) => waits.get(id) === 0);
  for (const { id } of ordered) {
    for (const next of dependents.get(id) ?? []) {
      const left = (waits.get(next) ?? 0) - 1;
      waits.set(next, left);
      const node = byId.get(next);
      if (left === 0 && node) ordered.push(node);
    }
  }
  if (ordered.length === nodes.length) return ordered;
  const circle = nodes.filter((node) => !ordered.includes(node)).map(({ id }) => id);
  throw new BoxError('graph_invalid', `These need each other in a circle: ${some(circle)}.`);
}

/**
 * Does the work for each once it is done for all that it needs, several at once. The work is told what became of these.
 * When one throws, nothing new begins; what runs comes to its end first.
 */
export async function walk<N extends Node, R>(
  nodes: readonly N[],
  atOnce: number,
  work: (node: N, needed: readonly R[]) => Promise<R>,
): Promise<Map<string, R>> {
  const open = new Set(inOrder(nodes));
  const among = new Set(nodes.map(({ id }) => id));
  const results = new Map<string, R>();
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const isReady = ({ dependsOn }: N): boolean => dependsOn.every((id) => !among.has(id) || results.has(id));
  while ((open.size > 0 && failures.length === 0) || running.size > 0) {
    for (const node of open) {
      if (running.size >= atOnce || failures.length > 0) break;
      if (!isReady(node)) continue;
      open.delete(node);
      const needed = node.dependsOn.flatMap((id) => results.get(id) ?? []);
      const going: Promise<void> = work(node, needed)
        .then(
          (result) => void results.set(node.id, result),
          (error: unknown) => void failures.push(error),
        )
        .finally(() => void running.delete(going));
      running.add(going);
    }
    if (running.size > 0) await Promise.race(running);
  }
  if (failures.length > 0) throw failures[0];
  return new Map(nodes.flatMap(({ id }) => (results.has(id) ? [[id, results.get(id) as R]] : [])));
}

function dependentsOf(nodes: readonly Node[]): Map<string, string[]> {
  const dependents = new Map<string, string[]>();
  for (const { id, dependsOn } of nodes) {
    for (const needed of new Set(dependsOn)) {
      const list = dependents.get(needed);
      if (list) list.push(id);
      else dependents.set(needed, [id]);
    }
  }
  return dependents;
}

function spread<N extends Node>(nodes: readonly N[], from: readonly string[], next: (id: string) => readonly string[]): N[] {
  const found = new Set(from);
  // What is added while walking is walked too.
  for (const id of found) for (const more of next(id)) found.add(more);
  return nodes.filter(({ id }) => found.has(id));
}

const shown = 12;
const some = (ids: readonly string[]): string =>
  ids.length > shown ? `${ids.slice(0, shown).join(', ')} and ${ids.length - shown} more` : ids.join(', ');
