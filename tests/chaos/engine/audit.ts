/**
 * The auditor: when the fault is gone and the load has stopped, the box must be whole. It goes by what callers were told (the
 * book), by the database itself, and by what it finds on the machine. Nothing found is what we want.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { artifactOf, type Book, type Job, logOf, sha256 } from './book.ts';
import type { Client } from './client.ts';
import type { Fault } from './faults.ts';
import { auditLedger } from './ledger-audit.ts';
import { auditLog } from './log-audit.ts';
import { auditMachine } from './machine-audit.ts';
import type { World } from './world.ts';

export interface ExecutionFacts {
  readonly id: string;
  readonly status: string;
  readonly error: string | null;
  readonly input: string;
  readonly ends: number;
}

export interface SandboxFacts {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly host: string;
  readonly ends: number;
}

export interface Audit {
  readonly findings: readonly string[];
  /** Executions of this round by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
}

const settleMs = 25_000;

export async function audit(world: World, book: Book, client: Client, fault: Fault, from: ReadonlySet<string>): Promise<Audit> {
  const findings: string[] = book.surprises.splice(0);
  const open = await settled(world);
  // What is under way cannot be judged yet.
  if (open.length > 0) return { findings: [...findings, ...open], ends: {} };
  const executions = await executionFacts(world);
  const ends = auditExecutions(executions, book, fault, from, findings);
  await auditJobs(world, executions, book, client, from, findings);
  await auditSandboxes(world, book, client, fault, findings);
  findings.push(...(await auditLedger(world, book)));
  findings.push(...auditLog(world, fault, ends));
  client.close();
  findings.push(...(await auditMachine(world)));
  return { findings, ends };
}

/** Ready, nothing waits, nothing runs, nothing is half made: within a time. */
async function settled(world: World): Promise<string[]> {
  for (const deadline = Date.now() + settleMs; ; await delay(100)) {
    const open = await unsettled(world).catch((error: Error) => [`the box cannot be looked at: ${error.message}`]);
    if (open.length === 0) return [];
    if (Date.now() > deadline) return open.map((line) => `after ${settleMs / 1000} s: ${line}`);
  }
}

async function unsettled(world: World): Promise<string[]> {
  const open: string[] = [];
  for (const { server } of world.hosts) {
    if (!server.running) return ['a server ended by itself'];
    const ready = await server.json('/ready');
    if (ready.status !== 200) open.push(`a host is not ready: ${JSON.stringify(ready.body)}`);
    const probe = await server.json('/v1/executions', { body: { skill: 'nobody-has-this' } });
    if (probe.status === 503) open.push(`a host takes no work: ${JSON.stringify(probe.body)}`);
  }
  const waiting = await world.query<{ id: string; status: string }>(
    `select id, status from executions where status in ('queued', 'running')`,
  );
  for (const { id, status } of waiting) open.push(`execution ${id} is still ${status}`);
  const half = await world.query<{ id: string; state: string }>(
    `select id, state from sandboxes where state not in ('ready', 'paused', 'destroyed', 'failed')`,
  );
  for (const { id, state } of half) open.push(`sandbox ${id} is still ${state}`);
  return open;
}

function executionFacts(world: World): Promise<ExecutionFacts[]> {
  return world.query(
    `select id, status, error, input, (select cast(count(*) as integer) from events
       where subject_id = executions.id and type = 'execution.finished') as ends from executions`,
  );
}

/** Each has one end, which stays what it was, and is one that the fault explains. */
function auditExecutions(
  executions: readonly ExecutionFacts[],
  book: Book,
  fault: Fault,
  from: ReadonlySet<string>,
  findings: string[],
): Record<string, number> {
  const count: Record<string, number> = {};
  for (const { id, status, error, input, ends } of executions) {
    const code = error === null ? '' : ` ${(JSON.parse(error) as { code: string }).code}`;
    const end = `${status}${code}`;
    if (ends !== 1) findings.push(`execution ${id} (${end}) has ${ends} ends in the events`);
    const before = book.ends.get(id);
    if (before !== undefined && before !== end) findings.push(`execution ${id} was ${before} and is ${end} now`);
    if (before !== undefined) continue;
    book.ends.set(id, end);
    count[end] = (count[end] ?? 0) + 1;
    const { marker = '' } = JSON.parse(input) as { marker?: string };
    const job = book.jobs.get(marker);
    if (!job || from.has(marker)) findings.push(`execution ${id} is of nobody's asking (${input})`);
    const explained = status === 'success' || (job?.cancelled && status === 'cancelled') || fault.costs.includes(code.trim());
    if (!explained) findings.push(`execution ${id} ended as ${end}, which this fault does not explain: ${error}`);
  }
  return count;
}

/** What callers were told is so: one execution for a key, successes with output, log and artifacts. */
async function auditJobs(
  world: World,
  executions: readonly ExecutionFacts[],
  book: Book,
  client: Client,
  from: ReadonlySet<string>,
  findings: string[],
): Promise<void> {
  const byMarker = new Map<string, ExecutionFacts[]>();
  for (const one of executions) {
    const { marker = '' } = JSON.parse(one.input) as { marker?: string };
    byMarker.set(marker, [...(byMarker.get(marker) ?? []), one]);
  }
  const fresh = [...book.jobs.values()].filter(({ marker }) => !from.has(marker));
  for (const job of fresh) {
    const made = byMarker.get(job.marker) ?? [];
    if (made.length > 1) findings.push(`${job.key ? `key ${job.key}` : job.marker} made ${made.length} executions`);
    if (job.ids.size > 1) findings.push(`${job.marker} was answered with ${job.ids.size} ids`);
    for (const id of job.ids) if (!made.some((one) => one.id === id)) findings.push(`execution ${id} was answered and is not there`);
  }
  const whole = fresh.flatMap((job) => (byMarker.get(job.marker) ?? []).map(({ id, status }) => ({ job, id, status })));
  await inParallel(whole, 8, async ({ job, id, status }) => {
    if (status === 'success') await auditSuccess(world, client, job, id, findings);
    else if (job.success) findings.push(`execution ${id} was answered with success and is ${status}`);
  });
}

async function auditSuccess(world: World, client: Client, job: Job, id: string, findings: string[]): Promise<void> {
  const at = world.address();
  const tenants = await Promise.all(world.tenants.map(({ key }) => client.ask(`${at}/v1/executions/${id}`, { key })));
  const index = tenants.findIndex(({ status }) => status === 200);
  const answer = tenants[index];
  if (!answer) {
    findings.push(`execution ${id} cannot be read: ${tenants.map(({ status }) => status).join(', ')}`);
    return;
  }
  const record = answer.json<Execution>();
  if ((record.output as { marker?: string } | null)?.marker !== job.marker)
    findings.push(`execution ${id} of ${job.marker} has the output ${JSON.stringify(record.output)}`);
  for (const line of logOf(job.marker).trim().split('\n')) {
    const times = record.logs.split('\n').filter((said) => said === line).length;
    if (times !== 1) findings.push(`execution ${id} said ${JSON.stringify(line)} ${times} times: ${JSON.stringify(record.logs)}`);
  }
  const wanted = artifactOf(job);
  const [file] = record.files_list;
  if (file?.path !== 'left.txt' || file.sha256 !== sha256(wanted))
    findings.push(`execution ${id} lists ${JSON.stringify(record.files_list)}`);
  const bytes = await client.ask(`${at}/v1/executions/${id}/files/left.txt`, { key: world.tenants[index]?.key ?? '' });
  if (bytes.status !== 200 || bytes.text !== wanted.toString())
    findings.push(`the artifact of ${id} is ${bytes.status} with ${bytes.text.length} bytes, not ${wanted.length}`);
  if (job.success && JSON.stringify(job.success.files_list) !== JSON.stringify(record.files_list))
    findings.push(`execution ${id} lists other files than the caller saw`);
  if (job.heard) auditStream(job.heard, id, findings);
}

/** Numbered from 1, without a gap: whoever resumed has all of it. */
function auditStream(heard: ReadonlyMap<number, string>, id: string, findings: string[]): void {
  const numbers = [...heard.keys()].sort((a, b) => a - b);
  if (numbers.some((number, index) => number !== index + 1)) findings.push(`the stream of ${id} had the entries ${numbers.join(' ')}`);
}

/** Gone for a reason that was asked for or that the fault explains, or there with every file; then ended, once. */
async function auditSandboxes(world: World, book: Book, client: Client, fault: Fault, findings: string[]): Promise<void> {
  const keyOf = new Map(world.tenants.map(({ name, key }) => [name, key]));
  const facts = new Map((await sandboxFacts(world)).map((one) => [one.id, one]));
  const known = [...book.sandboxes.values()].filter(({ id }) => !book.ends.has(id));
  for (const { id, end } of known) {
    const now = facts.get(id);
    if (!now) findings.push(`sandbox ${id} was answered and is not there`);
    else if (isThere(now)) {
      if (end === 'answered') findings.push(`sandbox ${id} was answered as destroyed and is ${now.state}`);
    } else if (end === 'none' && !fault.takes?.test(now.reason ?? ''))
      findings.push(`sandbox ${id} is ${now.state}, which this fault does not explain: ${now.reason}`);
  }
  // Every other one stays for the next round, so that faults meet sandboxes that have been through some.
  const there = [...facts.values()].filter(isThere);
  await inParallel(there, 4, async ({ id }) => {
    const kept = book.sandboxes.get(id);
    // One whose answer was lost belongs to whichever tenant asked for it.
    const keys = kept ? [keyOf.get(kept.tenant) ?? ''] : [...keyOf.values()];
    for (const [path, text] of kept?.files ?? []) {
      if (kept?.unsure.has(path)) continue;
      const answer = await client.ask(`${world.address()}/v1/sandboxes/${id}/files?path=${path}`, { key: keys[0] ?? '' });
      if (answer.status !== 200 || answer.text !== text)
        findings.push(
          `${path} of sandbox ${id} is ${answer.status} ${JSON.stringify(answer.text.slice(0, 200))}, not ${JSON.stringify(text)}`,
        );
    }
    if (kept && kept.end === 'none' && there.findIndex((one) => one.id === id) % 3 === 0) return;
    const ended = await Promise.all(keys.map((key) => client.ask(`${world.address()}/v1/sandboxes/${id}`, { key, method: 'DELETE' })));
    if (!ended.some(({ status }) => status === 200))
      findings.push(`sandbox ${id} cannot be destroyed: ${ended.map(({ text }) => text).join(' ')}`);
    if (kept) kept.end = 'answered';
  });
  for (const { id, state, reason, ends } of await sandboxFacts(world)) {
    const over = state === 'destroyed' || state === 'failed';
    if (ends !== (over ? 1 : 0)) findings.push(`sandbox ${id} (${state}, ${reason}) has ${ends} ends in the events`);
    const before = book.ends.get(id);
    if (before !== undefined && before !== state) findings.push(`sandbox ${id} was ${before} and is ${state} now`);
    if (over) book.ends.set(id, state);
  }
}

const isThere = ({ state }: SandboxFacts): boolean => state === 'ready' || state === 'paused';

export function sandboxFacts(world: World): Promise<SandboxFacts[]> {
  return world.query(
    `select id, state, reason, host, (select cast(count(*) as integer) from events
       where subject_id = sandboxes.id and type in ('sandbox.destroyed', 'sandbox.failed')) as ends from sandboxes`,
  );
}

async function inParallel<T>(list: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...list];
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}
