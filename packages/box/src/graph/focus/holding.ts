/** What still holds of the last focus, so that --resume does not do it again. */

import type { RuntimeStatus } from '@skillbox/protocol';
import type { Graph } from '../graph.ts';
import type { FocusRecord } from './record.ts';

export interface Holding {
  /** Nothing for sync to do. */
  readonly files: boolean;
  /** Nothing for bootstrap to do. */
  readonly tasks: boolean;
  /** Services to start. */
  readonly down: readonly string[];
}

export function holding(graph: Graph, seen: RuntimeStatus, last: Pick<FocusRecord, 'config_hash' | 'services'>): Holding {
  const same = last.config_hash === graph.configHash;
  const manual = new Set(
    [...graph.repos, ...graph.artifacts, ...graph.envFiles]
      .filter(({ sync }) => sync === 'manual' || sync === 'external')
      .map(({ id }) => id),
  );
  const ours = <T extends { id: string }>(items: readonly T[]): T[] => items.filter(({ id }) => !manual.has(id));
  return {
    files:
      same &&
      ours(seen.repos).every(({ state }) => state !== 'missing') &&
      ours(seen.artifacts).every(({ state }) => state === 'ok' || state === 'present') &&
      ours(seen.env_files).every(({ state }) => state === 'ok') &&
      seen.skills.every(({ state }) => state === 'ok') &&
      seen.logs.every(({ state }) => state === 'ok'),
    tasks: same && seen.tasks.every(({ state }) => state === 'ready'),
    down: downOf(graph, seen, last.services),
  };
}

/** Of those that up starts: not what is managed elsewhere. */
function downOf(graph: Graph, seen: RuntimeStatus, chosen: readonly string[]): string[] {
  const managed = new Set(
    graph.services.filter(({ commands, own }) => own !== undefined || Object.keys(commands).length > 0).map(({ id }) => id),
  );
  return seen.services
    .filter(({ id }) => managed.has(id) && (chosen.length === 0 || chosen.includes(id)))
    .filter(({ state }) => state !== 'running' && state !== 'ok' && state !== 'idle')
    .map(({ id }) => id);
}
