/**
 * The live part of what agents read, made anew when something changed: by up, down and restart at their end, and by pulse. Only of what is
 * focused, and nothing is written when nothing is new. Commands that read never do this.
 */

import { BoxError } from '@skillbox/protocol';
import type { Graph } from '../graph.ts';
import { loadGraph } from '../load.ts';
import type { Runtime } from '../runtime.ts';
import { collect } from './collect.ts';
import { putContext } from './context.ts';
import { type FocusRecord, type Live, readFocus, writeFocus } from './record.ts';

interface Fresh {
  readonly record: FocusRecord;
  readonly graph: Graph;
  readonly live: Live;
}

/** For who holds the lock and has done its work: that this fails is told, and is no failure of it. */
export async function refreshLive(runtime: Runtime): Promise<void> {
  try {
    const fresh = await lookAgain(runtime);
    if (fresh) putLive(runtime, fresh);
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    runtime.progress(`What agents are told was not refreshed: ${error.message}`);
  }
}

/** Reads only, so that it needs no lock. undefined: nothing is focused, or nothing is new. */
export async function lookAgain(runtime: Runtime): Promise<Fresh | undefined> {
  const { stateRoot } = runtime.config;
  const record = readFocus(stateRoot);
  if (!record) return undefined;
  const graph = loadGraph(runtime.config, { client: record.client, profiles: record.profiles });
  const live = await collect(runtime, graph);
  return isNews(live, record.live) ? { record, graph, live } : undefined;
}

/** For who holds the lock. What was focused anew since the look is better than it. */
export function putLive(runtime: Runtime, { record, graph, live }: Fresh): void {
  const { stateRoot } = runtime.config;
  const now = readFocus(stateRoot);
  if (now?.focused_at !== record.focused_at || now.live.collected_at > live.collected_at) return;
  writeFocus(stateRoot, { ...now, live });
  putContext(runtime, graph, live, { dryRun: false });
}

/** The time of the look alone is none. */
const isNews = (live: Live, before: Live): boolean =>
  JSON.stringify({ ...live, collected_at: '' }) !== JSON.stringify({ ...before, collected_at: '' });
