/** Rounds of load, fault and audit. The seed decides which faults, when they strike and what each caller does. */

import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { leftoversSettled } from '../../support/leftovers.ts';
import { seeded } from '../../support/random.ts';
import { audit } from './audit.ts';
import { createBook } from './book.ts';
import { createClient } from './client.ts';
import type { Fault } from './faults.ts';
import { startLoad } from './load.ts';
import { createWorld, type World, type WorldKind } from './world.ts';

export interface Round {
  readonly number: number;
  readonly fault: string;
  readonly ms: number;
  /** Executions by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
  readonly findings: readonly string[];
  /** What the servers said, for whoever has to find out why. */
  readonly log: string;
}

export interface Stage {
  round(fault: Fault): Promise<Round>;
  /** What callers asked for and how it was answered, and how often. */
  readonly answers: ReadonlyMap<string, number>;
  /** Stops the servers in order, and looks once more. */
  close(): Promise<readonly string[]>;
}

/** Numbers that depend on the seed and the name only. */
export function streamOf(seed: number, name: string): () => number {
  return seeded(createHash('sha256').update(`${seed} ${name}`).digest().readInt32LE(0));
}

export async function openStage(kind: WorldKind, seed: number): Promise<Stage> {
  const world = await createWorld(kind, streamOf(seed, `${kind} addresses`));
  const book = createBook();
  const client = createClient();
  let number = 0;

  return {
    answers: book.answers,
    async round(fault) {
      number += 1;
      const started = performance.now();
      const prefix = `${kind}-${number}`;
      const from = new Set(book.jobs.keys());
      const stream = (name: string) => streamOf(seed, `${prefix} ${name}`);
      const random = stream('fault');
      await fault.prepare?.(world);
      world.mark();
      const load = startLoad(book, client, world, stream, prefix);
      const findings: string[] = [];
      try {
        await delay(500 + random() * 700);
        findings.push(...(await fault.strike(world, random)));
        await delay(200 + random() * 400);
      } finally {
        await load.stop();
      }
      await fault.mend?.(world);
      const { findings: more, ends } = await audit(world, book, client, fault, from);
      findings.push(...more);
      return { number, fault: fault.name, ms: Math.round(performance.now() - started), ends, findings, log: world.said() };
    },
    async close() {
      client.close();
      try {
        return await closeInOrder(world);
      } finally {
        await world.remove();
      }
    },
  };
}

async function closeInOrder(world: World): Promise<string[]> {
  const findings: string[] = [];
  const servers = world.hosts.map(({ server }) => server);
  const [first] = servers;
  for (const { key } of world.tenants) {
    const { body } = (await first?.json<{ items: { id: string }[] }>('/v1/sandboxes?state=ready&limit=100', { key })) ?? {};
    for (const { id } of body?.items ?? []) await first?.request(`/v1/sandboxes/${id}`, { key, method: 'DELETE' });
  }
  for (const code of await world.stop()) if (code !== 0) findings.push(`a server stopped with ${code}`);
  for (const server of servers)
    for (const host of [server.host, `${server.host}-living`])
      findings.push(...(await leftoversSettled({ ...server, host })).map((line) => `after the stop: ${line}`));
  return findings;
}
