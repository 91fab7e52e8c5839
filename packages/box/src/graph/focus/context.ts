/**
 * CLAUDE.md, and AGENTS.md as a link to it, in the homes of the agents. The part about what is declared is the same for the same graph;
 * the live part is what focus saw, and stands first.
 */

import type { ContextReport } from '@skillbox/protocol';
import type { Graph, Place, Selection } from '../graph.ts';
import { loadGraph } from '../load.ts';
import { readAt, statAt, writeAt } from '../place.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { collect } from './collect.ts';
import { contextText } from './context-text.ts';
import { homePlaces, linkTarget } from './homes.ts';
import { linkAt, linkLeadsTo } from './link.ts';
import { createMask, knownSecrets } from './mask.ts';
import { isFocusOf, type Live, readFocus, writeFocus } from './record.ts';
import { installedSkills } from './skills.ts';

/** Of a client that is focused, the live part is collected anew too. */
export async function context(runtime: Runtime, selection: Selection, { dryRun }: { dryRun: boolean }): Promise<ContextReport> {
  const work = async (): Promise<ContextReport> => {
    const graph = loadGraph(runtime.config, selection);
    const record = readFocus(runtime.config.stateRoot);
    if (!record || !isFocusOf(record, graph)) return putContext(runtime, graph, undefined, { dryRun });
    const live = await collect(runtime, graph);
    if (!dryRun) writeFocus(runtime.config.stateRoot, { ...record, live });
    return putContext(runtime, graph, live, { dryRun });
  };
  return dryRun ? work() : exclusively(runtime, 'context', work);
}

/** While focus is at it, sync leaves the files to its later step. */
const focusing = new WeakSet<Runtime>();

export async function withoutContext<T>(runtime: Runtime, work: () => Promise<T>): Promise<T> {
  focusing.add(runtime);
  try {
    return await work();
  } finally {
    focusing.delete(runtime);
  }
}

/**
 * For sync, which holds the lock. What is focused stays what agents are told: a sync of something else leaves it, and a sync of the same
 * keeps what focus saw.
 */
export async function writeContext(runtime: Runtime, graph: Graph, options: { dryRun: boolean }): Promise<ContextReport> {
  const record = readFocus(runtime.config.stateRoot);
  if (focusing.has(runtime) || (record && !isFocusOf(record, graph))) return untouched(runtime, graph);
  return putContext(runtime, graph, record?.live, options);
}

export function putContext(runtime: Runtime, graph: Graph, live: Live | undefined, { dryRun }: { dryRun: boolean }): ContextReport {
  const { claude, agents } = homePlaces(runtime.config, graph);
  const text = contextText(graph, { live, skills: installedSkills(graph), mask: createMask(knownSecrets(graph)) });
  const changed = { claude: !holds(claude, text), agents: !linkLeadsTo(agents, linkTarget) };
  if (!dryRun && changed.claude) writeAt(claude, text, { mode: 0o644 });
  if (!dryRun && changed.agents) linkAt(agents, linkTarget);
  return {
    client: graph.client?.id ?? null,
    files: [
      { path: claude.hostPath, changed: changed.claude },
      { path: agents.hostPath, changed: changed.agents },
    ],
    bytes: Buffer.byteLength(text),
  };
}

function untouched({ config }: Runtime, graph: Graph): ContextReport {
  const { claude, agents } = homePlaces(config, graph);
  return {
    client: graph.client?.id ?? null,
    files: [claude, agents].map(({ hostPath }) => ({ path: hostPath, changed: false })),
    bytes: statAt(claude)?.size ?? 0,
  };
}

/** By its size first: what is inside may be of any. */
function holds(place: Place, text: string): boolean {
  const there = statAt(place);
  return there?.isFile() === true && there.size === Buffer.byteLength(text) && readAt(place)?.toString('utf8') === text;
}
