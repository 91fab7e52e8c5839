/** The order in which what fell is started again, by itself: no watcher and no looks, only what it is told. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type GraphGround, graph, service as makeService, newGround, type ServiceDraft } from '../../../../../tests/support/graph.ts';
import { isAlive } from '../../process/identity.ts';
import type { Graph } from '../graph.ts';
import { recentActivity } from '../runtime-log.ts';
import { startService, stopService } from '../services/control.ts';
import { readServiceRecord } from '../services/records.ts';
import { type Patience, usualPatience } from './backoff.ts';
import { openBook } from './book.ts';
import { createGraphs } from './graphs.ts';
import { createMender, type Mender } from './mender.ts';
import { emptyState } from './state.ts';

const patience: Patience = { ...usualPatience, firstMs: 300, mostMs: 300, limit: 3, windowMs: 60_000, slowMs: 60_000 };

let ground: GraphGround;
let declared: Graph;
let mender: Mender | undefined;

beforeEach(() => {
  ground = newGround();
  mkdirSync(ground.stateRoot, { recursive: true });
});
afterEach(async () => {
  await mender?.stop();
  for (const one of declared.services) await stopService(ground.runtime, one, { wanted: false });
  ground.remove();
});

const flag = (id: string): string => join(ground.folder, `${id}.broken`);
/** It starts unless it is broken, and needs the others. */
const chained = (id: string, ...dependsOn: string[]): ServiceDraft => ({
  id,
  command: `test ! -e ${flag(id)} && exec sleep 1000`,
  dependsOn,
});
const alive = (id: string): boolean => {
  const process = readServiceRecord(ground.stateRoot, id)?.process;
  return process !== undefined && isAlive(process);
};
const told = (type: string): string[] =>
  recentActivity(ground.stateRoot, 1000).flatMap((one) => (one.type === `service.${type}` ? [one.subject.slice('service:'.length)] : []));
const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000 });

/** 0 would be everybody here. */
const kill = (pid: number | undefined): void => {
  if (pid === undefined) throw new Error('there is no process to kill');
  process.kill(pid, 'SIGKILL');
};

/** All are up, then all are killed, and the mender hears of these in this order. */
async function fallOf(services: readonly ServiceDraft[], broken: readonly string[], suspects: readonly string[]): Promise<void> {
  declared = graph({ services: services.map((draft) => makeService(ground.folder, draft)) });
  const options = { mode: 'reuse', selection: { profiles: [] }, restarts: 0, waitMs: undefined } as const;
  for (const one of declared.services)
    expect(await startService(ground.runtime, declared, one, options)).toMatchObject({ result: 'started' });
  for (const id of broken) writeFileSync(flag(id), '');
  const graphs = createGraphs(() => declared);
  graphs.reload(ground.runtime.config, []);
  const book = openBook(ground.stateRoot, emptyState, () => undefined);
  const quiet = { random: () => 0.5, say: () => undefined, mended: () => undefined };
  mender = createMender({ runtime: () => ground.runtime, graphs, book, patience, ...quiet });
  for (const { id } of declared.services) kill(readServiceRecord(ground.stateRoot, id)?.process?.pid);
  await soon(() => expect(declared.services.some(({ id }) => alive(id))).toBe(false));
  for (const id of suspects) mender.suspect(id, 'crashed');
}

describe('those that wait for others', () => {
  const chain = (): ServiceDraft[] => [chained('c'), chained('b', 'c'), chained('a', 'b')];

  it('are brought back in the order of their needs, whatever the order in which they fell', async () => {
    await fallOf(chain(), [], ['a', 'b', 'c']);
    await soon(() => expect(told('restarted')).toHaveLength(3));
    expect(told('restarted')).toEqual(['c', 'b', 'a']);
    expect(told('restart_failed')).toEqual([]);
    expect(['a', 'b', 'c'].map(alive)).toEqual([true, true, true]);
  });

  it('wait through the pauses of the one at the end of the chain, and lose no try over it', async () => {
    await fallOf(chain(), ['c'], ['a', 'b', 'c']);
    await soon(() => expect(told('restart_failed')).toEqual(['c']));
    rmSync(flag('c'));
    await soon(() => expect(told('restarted')).toEqual(['c', 'b', 'a']));
    expect(told('restart_failed')).toEqual(['c']);
  });

  it('look after one they need that nobody has heard of yet, along the whole chain', async () => {
    await fallOf(chain(), [], ['a']);
    await soon(() => expect(told('restarted')).toEqual(['c', 'b', 'a']));
    expect(told('crashed').sort()).toEqual(['a', 'b', 'c']);
  });

  it('are not held for ever by one that was given up', async () => {
    await fallOf([...chain(), chained('other')], ['b'], ['a', 'b', 'c', 'other']);
    await soon(() => expect(told('given_up')).toEqual(['b']));
    await soon(() => expect(told('restarted').sort()).toEqual(['a', 'c', 'other']));
    expect(alive('b')).toBe(false);
    // What does not need it did not wait for it, and who does went on only when it was given up.
    const order = recentActivity(ground.stateRoot, 1000).map(({ type, subject }) => `${type} ${subject}`);
    expect(order.indexOf('service.restarted service:other')).toBeLessThan(order.indexOf('service.given_up service:b'));
    expect(order.indexOf('service.restarted service:a')).toBeGreaterThan(order.indexOf('service.given_up service:b'));
  });
});
