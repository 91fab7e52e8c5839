/** A program with everything it started: found by session, descent and environment, ended together, and never by a pid alone. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessEntry, type ProcessIdentity, readProcess } from './identity.ts';
import { nextProcessTable, type ProcessTable } from './table.ts';

/** Variable that every process of a tree has from its start: it proves descent when the leader is gone and its pid may be another's. */
export const runVariable = 'SKILLBOX_SERVICE_RUN';

/** The leader of a session of its own, as startProgram makes it. */
export interface ProcessTree {
  readonly leader: ProcessIdentity;
  /** Value of runVariable; undefined: the leader alone speaks for its tree. */
  readonly run: string | undefined;
}

export interface EndOptions {
  /** Between SIGTERM and SIGKILL. */
  readonly patienceMs: number;
  onWait?(ms: number): void;
}

/** gone: nothing was there; stopped: it went by itself; killed: it had to be; stuck: not even that helped. */
export type EndOfTree = 'gone' | 'stopped' | 'killed' | 'stuck';

const pollMs = 20;
/** A killed process goes at once, unless the kernel is in the middle of something for it. */
const killMs = 5000;

/** Those alive now: of its session, with its name in their environment wherever they went, and what these started. */
export function membersOf({ leader, run }: ProcessTree, table: ProcessTable): ProcessIdentity[] {
  const found = new Map<number, ProcessIdentity>();
  // While a session has members the kernel gives its number to nobody else; but without its leader nothing says whose session it is.
  if (readProcess(leader.pid)?.startTime === leader.startTime)
    for (const entry of table.values()) if (entry.session === leader.pid) found.set(entry.pid, entry);
  if (run !== undefined) for (const entry of runsIn(table).get(run) ?? []) found.set(entry.pid, entry);
  addDescendants(found, table);
  return [...found.values()].map(({ pid, startTime }) => ({ pid, startTime }));
}

/** SIGTERM to all of it, patience, SIGKILL to what is left, newcomers too. */
export async function endTree(tree: ProcessTree, { patienceMs, onWait }: EndOptions): Promise<EndOfTree> {
  const known = new Map<number, ProcessIdentity>();
  const asked = new Set<number>();
  // What leaves the session after its parent's death is found only by who has seen it before.
  const living = async (): Promise<ProcessIdentity[]> => {
    for (const member of membersOf(tree, await nextProcessTable())) known.set(member.pid, member);
    return [...known.values()].filter(isAlive);
  };
  let members = await living();
  if (members.length === 0) return 'gone';
  const since = performance.now();
  while (members.length > 0 && performance.now() - since < patienceMs) {
    signal(
      tree,
      members.filter(({ pid }) => !asked.has(pid)),
      'SIGTERM',
    );
    for (const { pid } of members) asked.add(pid);
    onWait?.(performance.now() - since);
    await sleep(pollMs);
    members = members.filter(isAlive);
    if (members.length === 0) members = await living();
  }
  if (members.length === 0) return 'stopped';
  const killedAt = performance.now();
  while (performance.now() - killedAt < killMs) {
    members = await living();
    if (members.length === 0) return 'killed';
    signal(tree, members, 'SIGKILL');
    await sleep(pollMs);
  }
  return 'stuck';
}

/** One process by itself, for a leader whose children have lives of their own. */
export async function endProcess(identity: ProcessIdentity, { patienceMs, onWait }: EndOptions): Promise<EndOfTree> {
  if (!isAlive(identity)) return 'gone';
  const since = performance.now();
  send(identity.pid, 'SIGTERM');
  while (isAlive(identity) && performance.now() - since < patienceMs) {
    onWait?.(performance.now() - since);
    await sleep(pollMs);
  }
  if (!isAlive(identity)) return 'stopped';
  const killedAt = performance.now();
  send(identity.pid, 'SIGKILL');
  while (isAlive(identity) && performance.now() - killedAt < killMs) await sleep(pollMs);
  return isAlive(identity) ? 'stuck' : 'killed';
}

/** Of a tree whose start was cut short before anybody wrote down who leads it. */
export function findLeader(run: string, table: ProcessTable): ProcessIdentity | undefined {
  const leader = runsIn(table)
    .get(run)
    ?.find(({ pid, session }) => session === pid);
  return leader && { pid: leader.pid, startTime: leader.startTime };
}

function addDescendants(found: Map<number, ProcessIdentity>, table: ProcessTable): void {
  const children = new Map<number, ProcessIdentity[]>();
  for (const entry of table.values()) children.set(entry.parent, [...(children.get(entry.parent) ?? []), entry]);
  const open = [...found.keys()];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const child of children.get(pid) ?? []) {
      if (found.has(child.pid)) continue;
      found.set(child.pid, child);
      open.push(child.pid);
    }
  }
}

function signal({ leader }: ProcessTree, members: readonly ProcessIdentity[], name: NodeJS.Signals): void {
  // The group at once, so that a child which is being born is not missed. A living member of ours keeps its number from being given away.
  const grouped = members.filter((member) => isAlive(member) && readProcess(member.pid)?.group === leader.pid);
  if (grouped.length > 0) send(-leader.pid, name);
  const reached = new Set(grouped.map(({ pid }) => pid));
  for (const member of members) if (!reached.has(member.pid) && isAlive(member)) send(member.pid, name);
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It went in the meantime, or is another user's: who waits for its end sees which.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Read once for a table, which many trees share. */
const runs = new WeakMap<ProcessTable, Map<string, ProcessEntry[]>>();

function runsIn(table: ProcessTable): Map<string, ProcessEntry[]> {
  const known = runs.get(table);
  if (known) return known;
  const found = new Map<string, ProcessEntry[]>();
  for (const entry of table.values()) {
    const run = runOf(entry.pid);
    if (run !== undefined) found.set(run, [...(found.get(run) ?? []), entry]);
  }
  runs.set(table, found);
  return found;
}

function runOf(pid: number): string | undefined {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    return variables.find((variable) => variable.startsWith(`${runVariable}=`))?.slice(runVariable.length + 1);
  } catch {
    // Gone, or not ours to look at: then it is not ours to end either.
    return undefined;
  }
}
