/** Copies of repositories that nothing refers to any more are removed: of no client and no profile, whichever was selected. */

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ActionRecord, BoxError } from '@skillbox/protocol';
import { draftName, draftOf, hasMaker } from '../drafts.ts';
import type { Graph } from '../graph.ts';
import { examineGraph } from '../load.ts';
import type { Runtime } from '../runtime.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';
import { mirrorFolder, mirrorPath } from './mirrors.ts';
import { loadSkillConfig } from './skills/config.ts';

const mirrorName = /^[^.].*-[0-9a-f]{16}\.git$/;

/** For who holds the lock: nobody else fetches into one meanwhile. */
export async function pruneMirrors(work: SyncWork, graph: Graph): Promise<ActionRecord[]> {
  const { config } = work.runtime;
  const folder = mirrorFolder(config.stateRoot);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder);
  const here = usedBy(work.runtime, graph);
  const unused = names.filter((name) => mirrorName.test(name) && !here?.has(name));
  // To know what all the others refer to takes longer, and nearly always there is nothing left to ask about.
  const used = unused.length === 0 ? new Set<string>() : usedByAnybody(work.runtime, graph);
  const abandoned = names.filter((name) => isAbandoned(name));
  const gone = [...(used ? unused.filter((name) => !used.has(name)) : []), ...abandoned];
  const records = gone.map((name) => {
    const path = join(folder, name);
    return attempt(work, { section: 'repos', id: 'mirrors', action: 'prune', path }, async () => {
      if (!work.dryRun) remove(folder, name);
      const detail = abandoned.includes(name) ? 'left by a sync that was killed' : 'no repository or skill repo refers to it any more';
      return recordOf('repos', 'mirrors', 'prune', work.dryRun ? 'planned' : 'done', { path, detail });
    });
  });
  return (await Promise.all(records)).flat();
}

/** Names of copies; undefined when it cannot be known. */
function usedBy({ config }: Runtime, { repos, skills }: Pick<Graph, 'repos' | 'skills'>): Set<string> | undefined {
  const urls = repos.flatMap(({ source }) => (source.kind === 'git' ? [source.url] : []));
  for (const set of skills) {
    try {
      for (const source of loadSkillConfig(set).sources) if (source.kind === 'git') urls.push(...source.urls);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      // What its file means once it is mended, nobody knows yet.
      return undefined;
    }
  }
  return new Set(urls.map((url) => basename(mirrorPath(config.stateRoot, url))));
}

/** By the box, every client and every profile, and by the graph that is synced; undefined when one of them cannot be read. */
function usedByAnybody(runtime: Runtime, synced: Graph): Set<string> | undefined {
  const all = usedBy(runtime, synced);
  for (const client of [undefined, ...synced.clients]) {
    const used = usedOfClient(runtime, client);
    if (!all || !used) return undefined;
    for (const name of used) all.add(name);
  }
  return all;
}

function usedOfClient(runtime: Runtime, client: string | undefined): Set<string> | undefined {
  try {
    const { graph } = examineGraph(runtime.config, { client, profiles: [] });
    const { graph: whole } = graph ? examineGraph(runtime.config, { client, profiles: graph.knownProfiles }) : { graph };
    return whole && usedBy(runtime, whole);
  } catch (error) {
    if (error instanceof BoxError) return undefined;
    throw error;
  }
}

/** What a process that was killed left of making or removing one. */
function isAbandoned(name: string): boolean {
  const draft = draftOf(name);
  return draft !== undefined && !hasMaker(draft);
}

/** Aside first: one that is killed here leaves no half of a copy that the next would take for a whole. */
function remove(folder: string, name: string): void {
  const aside = join(folder, name.startsWith('.') ? name : draftName(name, 'old'));
  if (!name.startsWith('.')) renameSync(join(folder, name), aside);
  rmSync(aside, { recursive: true, force: true });
}
