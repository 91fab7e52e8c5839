/** Mixed load: callers of all kinds who go on whatever happens, and write down what they were told. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Execution, Sandbox } from '@skillbox/protocol';
import { type Book, type Job, type Kept, langs } from './book.ts';
import { type Answer, type Client, hung } from './client.ts';

export interface Target {
  /** The address of a host that should answer, any of them. */
  address(): string;
  readonly tenants: readonly { readonly name: string; readonly key: string }[];
  readonly adminKey: string;
}

export interface Load {
  /** No new requests; resolves when the last has its answer. */
  stop(): Promise<void>;
}

const callers = 8;
/** Sandboxes that are left alone for later callers; above that a caller ends what it made. */
const mostKept = 3;

/** `stream` gives each caller choices of its own, so that a seed gives the same ones whoever is faster. */
export function startLoad(book: Book, client: Client, target: Target, stream: (name: string) => () => number, prefix: string): Load {
  const shared: Shared = { going: true, inUse: new Set() };
  const all = Promise.all(
    Array.from({ length: callers }, (_, index) =>
      call({ book, client, target, shared, random: stream(`caller ${index}`), prefix: `${prefix}-${index}` }),
    ),
  );
  return {
    async stop() {
      shared.going = false;
      await all;
    },
  };
}

interface Shared {
  going: boolean;
  /** Only one caller at a time has a sandbox: then what its files must say is plain. */
  readonly inUse: Set<string>;
}

interface Caller {
  readonly book: Book;
  readonly client: Client;
  readonly target: Target;
  readonly shared: Shared;
  readonly prefix: string;
  random(): number;
}

async function call({ book, client, target, shared, random, prefix }: Caller): Promise<void> {
  let count = 0;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

  const note = (what: string, { status, text }: Answer, fine: readonly number[]): void => {
    const outcome = `${what} ${status === 0 ? 'broken off' : status === hung ? 'no answer' : status}`;
    book.answers.set(outcome, (book.answers.get(outcome) ?? 0) + 1);
    // Broken off, too many, not now: what a caller can live with. Anything else is either right or a defect.
    if (![0, 429, 503, ...fine].includes(status)) book.surprises.push(`${outcome}: ${text.slice(0, 300)}`);
    if (status === 503 && !text.includes('"error"')) book.surprises.push(`${outcome} without a code: ${text.slice(0, 100)}`);
  };

  const newJob = (keyed: boolean): Job => {
    count += 1;
    const marker = `${prefix}-${count}`;
    const long = random() < 0.15;
    const job: Job = {
      ...{ marker, lang: pick(langs), ms: long ? 400 + Math.floor(random() * 900) : Math.floor(random() * 60) },
      artifactBytes: random() < 0.2 ? 40_000 : 60,
      ...(keyed && { key: `key-${marker}` }),
      ...{ cancelled: false, ids: new Set<string>() },
    };
    book.jobs.set(marker, job);
    return job;
  };

  const submit = async (job: Job, tenant: Target['tenants'][number], wait: boolean): Promise<Answer> => {
    const answer = await client.ask(`${target.address()}/v1/executions`, {
      key: tenant.key,
      ...(job.key && { headers: { 'Idempotency-Key': job.key } }),
      body: {
        ...{ skill: `mixed-${job.lang}`, input: { marker: job.marker }, wait },
        env: { MARKER: job.marker, MS: String(job.ms), BYTES: String(job.artifactBytes) },
      },
    });
    note(`run${wait ? '' : ' in the background'}${job.key ? ' with a key' : ''}`, answer, [200, 202]);
    if (answer.status === 200 || answer.status === 202) {
      const record = answer.json<Execution>();
      job.ids.add(record.execution_id);
      if (record.status === 'success') job.success = record;
    }
    return answer;
  };

  /** The same request until it has an answer: that is what keys are for. */
  const insist = async (tenant: Target['tenants'][number]): Promise<void> => {
    const job = newJob(true);
    const wait = random() < 0.5;
    for (let tries = 0; tries < 20; tries += 1) {
      const { status } = await submit(job, tenant, wait);
      if (status === 200 || status === 202 || !shared.going) return;
      await delay(100);
    }
  };

  /** Follows the stream to its end, and picks it up where it broke. */
  const follow = async (tenant: Target['tenants'][number]): Promise<void> => {
    const job = newJob(false);
    const { status } = await submit(job, tenant, false);
    const [id] = job.ids;
    if (status !== 202 || !id) return;
    const heard = new Map<number, string>();
    job.heard = heard;
    for (let tries = 0; tries < 20; tries += 1) {
      const last = Math.max(0, ...heard.keys());
      let text = '';
      const complete = await client.listen(
        `${target.address()}/v1/executions/${id}/events`,
        { key: tenant.key, ...(last > 0 && { headers: { 'Last-Event-ID': String(last) } }) },
        (chunk) => {
          text += chunk;
        },
      );
      for (const block of text.split('\n\n').slice(0, -1)) takeEvent(book, heard, id, block);
      if (complete || !shared.going) return;
      await delay(100);
    }
  };

  const cancel = async (tenant: Target['tenants'][number]): Promise<void> => {
    const job = newJob(false);
    await submit(job, tenant, false);
    const [id] = job.ids;
    if (!id) return;
    await delay(random() * 50);
    job.cancelled = true;
    note(
      'cancel',
      await client.ask(`${target.address()}/v1/executions/${id}/cancel`, { key: tenant.key, method: 'POST' }),
      [200, 202, 409],
    );
  };

  const write = async (kept: Kept, key: string): Promise<void> => {
    const path = `note-${Math.floor(random() * 3)}`;
    count += 1;
    const text = `${prefix} ${count}`;
    kept.unsure.add(path);
    const answer = await client.ask(`${target.address()}/v1/sandboxes/${kept.id}/files?path=${path}`, { key, method: 'PUT', body: text });
    note('write a file', answer, [200, 201, 204, 404, 409]);
    if (answer.status !== 200 && answer.status !== 201 && answer.status !== 204) return;
    kept.files.set(path, text);
    kept.unsure.delete(path);
  };

  const use = async (kept: Kept, key: string): Promise<void> => {
    const answer = await client.ask(`${target.address()}/v1/sandboxes/${kept.id}/programs`, { key, body: { cmd: 'echo said; exit 3' } });
    note('exec', answer, [200, 404, 409]);
    if (answer.status !== 200) return;
    const { stdout, exit_code } = answer.json<{ stdout: string; exit_code: number | null }>();
    // Killed from outside it ends with a signal; it never says something else.
    if (exit_code === 3 && stdout !== 'said\n') book.surprises.push(`exec said ${JSON.stringify(stdout)} and ended with 3`);
  };

  const destroy = async (kept: Kept, key: string): Promise<void> => {
    kept.end = 'asked';
    const answer = await client.ask(`${target.address()}/v1/sandboxes/${kept.id}`, { key, method: 'DELETE' });
    note('destroy', answer, [200]);
    if (answer.status === 200) kept.end = 'answered';
  };

  const live = async (tenant: Target['tenants'][number]): Promise<void> => {
    const free = [...book.sandboxes.values()].filter(
      (one) => one.tenant === tenant.name && one.end === 'none' && !shared.inUse.has(one.id),
    );
    let kept = random() < 0.7 ? free[0] : undefined;
    if (!kept) {
      const answer = await client.ask(`${target.address()}/v1/sandboxes`, { key: tenant.key, body: { template: 'priced' } });
      note('create a sandbox', answer, [201]);
      if (answer.status !== 201) return;
      kept = { id: answer.json<Sandbox>().id, tenant: tenant.name, files: new Map(), unsure: new Set(), end: 'none' };
      book.sandboxes.set(kept.id, kept);
    }
    shared.inUse.add(kept.id);
    for (let steps = 1 + Math.floor(random() * 3); steps > 0 && shared.going; steps -= 1)
      await (random() < 0.5 ? write(kept, tenant.key) : use(kept, tenant.key));
    if (free.length >= mostKept || random() < 0.4) await destroy(kept, tenant.key);
    shared.inUse.delete(kept.id);
  };

  const grant = async (tenant: Target['tenants'][number]): Promise<void> => {
    count += 1;
    const key = `grant-${prefix}-${count}`;
    const given = { tenant: tenant.name, amount: 1 + Math.floor(random() * 9), answered: false };
    book.grants.set(key, given);
    for (let tries = 0; tries < 10 && !given.answered; tries += 1) {
      const answer = await client.ask(`${target.address()}/v1/credits/grants`, {
        ...{ key: target.adminKey, headers: { 'Idempotency-Key': key }, body: { tenant: tenant.name, amount: given.amount } },
      });
      note('grant', answer, [201]);
      given.answered = answer.status === 201;
      if (!shared.going) return;
      if (!given.answered) await delay(100);
    }
  };

  while (shared.going) {
    const tenant = pick(target.tenants);
    const choice = random();
    if (choice < 0.35) await submit(newJob(false), tenant, true);
    else if (choice < 0.5) await submit(newJob(false), tenant, false);
    else if (choice < 0.6) await insist(tenant);
    else if (choice < 0.7) await follow(tenant);
    else if (choice < 0.75) await cancel(tenant);
    else if (choice < 0.93) await live(tenant);
    else await grant(tenant);
    await delay(10 + random() * 40);
  }
}

function takeEvent(book: Book, heard: Map<number, string>, id: string, block: string): void {
  const number = /^id: (\d+)$/m.exec(block)?.[1];
  const data = /^data: (.*)$/m.exec(block)?.[1];
  const event = /^event: (.*)$/m.exec(block)?.[1] ?? '';
  if (number === undefined || data === undefined) return;
  if (heard.has(Number(number))) book.surprises.push(`the stream of ${id} sent entry ${number} twice`);
  heard.set(Number(number), `${event} ${data}`);
}
