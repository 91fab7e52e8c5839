/** How a client is found just now: its services, repos, logs, history and open sessions, and what of all this needs attention. Reads only. */

import { sep } from 'node:path';
import type { Attention, FocusReport, RepoState, RuntimeStatus } from '@skillbox/protocol';
import type { Graph, Place } from '../graph.ts';
import { hostFile } from '../place.ts';
import type { Runtime } from '../runtime.ts';
import { recentActivity } from '../runtime-log.ts';
import { listTimelines } from '../sessions/timeline.ts';
import { graphStatus } from '../status.ts';
import { lookPatience, treeStates } from '../sync/trees.ts';
import { errorsIn, type LogSource, newestLog } from './log-errors.ts';
import { createMask, knownSecrets, type Mask, maskedLine } from './mask.ts';
import { askedProfiles, type Live } from './record.ts';

const mostActivity = 20;
const mostSessions = 100;

export interface Sight {
  /** A look at everything that is still true; undefined: look. */
  readonly seen?: RuntimeStatus | undefined;
  /** Of focus, so far: what failed needs attention. */
  readonly steps?: FocusReport['steps'];
}

export async function collect(runtime: Runtime, graph: Graph, { seen, steps = [] }: Sight = {}): Promise<Live> {
  const { stateRoot } = runtime.config;
  const mask = createMask(knownSecrets(graph));
  const found = seen ?? (await graphStatus(runtime, graph));
  const repos = await repoStates(runtime, graph, mask);
  const errors = errorsIn(logSources(graph, found), mask);
  const sessions = listTimelines(stateRoot, { client: graph.client?.id, state: 'active', limit: mostSessions });
  const attention = [
    ...steps.filter(({ result }) => result === 'failed').map(failedStep),
    ...found.attention,
    ...sessions.filter(({ stale }) => stale).map(({ session_id, updated_at }) => staleSession(session_id, updated_at)),
  ];
  return {
    collected_at: new Date().toISOString(),
    attention: inOrder(attention).map((one) => ({ ...one, message: maskedLine(mask, one.message) })),
    services: found.services,
    repos,
    errors,
    activity: recentActivity(stateRoot, mostActivity),
    sessions: sessions.map(({ session_id }) => session_id),
  };
}

/** When the look itself failed: that is what needs attention. */
export const withoutSight = (steps: FocusReport['steps']): Live => ({
  collected_at: new Date().toISOString(),
  attention: steps.filter(({ result }) => result === 'failed').map(failedStep),
  ...{ services: [], repos: [], errors: [], activity: [], sessions: [] },
});

export const selectionOf = (graph: Graph) => ({ client: graph.client?.id, profiles: askedProfiles(graph) });

/** Each service's own log, and the newest of each declared folder. */
function logSources(graph: Graph, { services }: RuntimeStatus): LogSource[] {
  const ofServices = services.flatMap(({ id, log }) => (log === null ? [] : [{ name: `service ${id}`, place: placeOfLog(graph, log) }]));
  const ofFolders = graph.logs.flatMap(({ id, place }) => {
    const newest = newestLog(place);
    return newest ? [{ name: `log ${id}`, place: newest }] : [];
  });
  const taken = new Set(ofServices.map(({ place }) => place.hostPath));
  return [...ofServices, ...ofFolders.filter(({ place }) => !taken.has(place.hostPath))];
}

/** One that belongs to a log of the graph lies where that lies, perhaps where the workspace can write. */
function placeOfLog({ logs }: Graph, file: string): Place {
  const folder = logs.map(({ place }) => place).find(({ hostPath }) => file.startsWith(hostPath + sep));
  if (!folder) return hostFile(file);
  return { path: folder.path + file.slice(folder.hostPath.length), hostPath: file, inside: folder.inside };
}

const failedStep = ({ step, detail }: FocusReport['steps'][number]): Attention => ({
  severity: 'error',
  subject: `focus:${step}`,
  message: detail ?? `The step ${step} of focus failed.`,
  fix: step === 'sync' || step === 'bootstrap' || step === 'up' ? `skillbox ${step}` : 'skillbox doctor',
});

const staleSession = (id: string, since: string): Attention => ({
  severity: 'warning',
  subject: `session:${id}`,
  message: `Active, but nothing was heard of it since ${since}.`,
  fix: `skillbox session end ${id} --state abandoned`,
});

/** Errors first; among equals as they were found. The same thing is said once. */
function inOrder(attention: readonly Attention[]): Attention[] {
  const once = new Map(attention.map((one) => [`${one.subject}\0${one.message}`, one]));
  const all = [...once.values()];
  return [...all.filter(({ severity }) => severity === 'error'), ...all.filter(({ severity }) => severity !== 'error')];
}

/** Names of branches and commit messages are written inside. */
async function repoStates({ signal }: Runtime, { repos }: Graph, mask: Mask): Promise<RepoState[]> {
  const trees = await treeStates(
    repos.map(({ place }) => place),
    { signal, last: true, ...lookPatience },
  );
  const plain = (text: string | null | undefined): string | null => (text ? maskedLine(mask, text, 120) : null);
  return repos.map(({ id, place }, at) => {
    const tree = trees[at];
    return { id, path: place.path, branch: plain(tree?.branch), dirty: tree?.dirty ?? null, last_commit: plain(tree?.lastCommit) };
  });
}
