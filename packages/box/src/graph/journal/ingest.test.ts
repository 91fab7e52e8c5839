import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../config.ts';
import { createEvents, type Events } from '../../events/events.ts';
import { makeStateRoot } from '../../state.ts';
import { openStore, type Store } from '../../store/store.ts';
import { recordActivity, runtimeJournal } from '../runtime-log.ts';
import { type Ingestion, startIngestion } from './ingest.ts';
import { formatLine } from './line.ts';
import { readNew } from './reader.ts';
import { appendLine, type Journal, segmentsOf } from './segments.ts';

let root: string;
let stateRoot: string;
let store: Store;
let events: Events;
let ingestion: Ingestion | undefined;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'skillbox-ingest-'));
  const config = loadConfig({ cwd: root, env: {} });
  stateRoot = config.stateRoot;
  makeStateRoot(stateRoot);
  store = await openStore(config);
  events = createEvents({ database: store.database, host: 'host-1' });
});
afterEach(async () => {
  await ingestion?.stop();
  ingestion = undefined;
  await store.close();
  rmSync(root, { recursive: true, force: true });
});

const begin = (): Ingestion => {
  ingestion = startIngestion({ stateRoot, host: 'host-1', database: store.database, events, log: pino({ level: 'silent' }) });
  return ingestion;
};
const numbers = async (): Promise<unknown[]> => (await events.list({ type: 'graph.n', limit: 10_000 })).map(({ data }) => data.i);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('the runtime log in the events', () => {
  it('has each line once, with its time and subject, soon after it was written', async () => {
    begin();
    recordActivity(stateRoot, 'service.crashed', 'service:web', { pid: 7 });
    await vi.waitFor(async () => expect(await events.list({ limit: 10 })).toHaveLength(1), { timeout: 3000 });
    const [event] = await events.list({ limit: 10 });
    expect(event).toMatchObject({
      type: 'graph.service.crashed',
      subject: { type: 'service', id: 'web' },
      actor: { kind: 'atm', id: 'graph' },
      data: { pid: 7 },
      time: expect.stringMatching(/:\d\d\.000Z$/),
    });
  });

  it('goes on where the last server left off, over new files and half lines', async () => {
    const small: Journal = { ...runtimeJournal(stateRoot), bytes: 2000, keep: 100 };
    const write = (from: number, to: number): void => {
      for (let i = from; i < to; i++) appendLine(small, formatLine(new Date(), 'n', 'box', { i }));
    };
    write(0, 150);
    await begin().now();
    await ingestion?.stop();
    write(150, 300);
    await begin().now();
    appendFileSync(segmentsOf(small).at(-1)?.path ?? '', '2026-01-01T00:00:00 n box {"i":');
    await ingestion?.now();
    expect(await numbers()).toEqual(upTo(300));
    appendFileSync(segmentsOf(small).at(-1)?.path ?? '', '300}\nnonsense\n');
    write(301, 310);
    await ingestion?.now();
    await ingestion?.stop();
    await begin().now();
    expect(await numbers()).toEqual(upTo(310));
  });

  it('reads what a slow writer still put into an older file', async () => {
    const small: Journal = { ...runtimeJournal(stateRoot), bytes: 200, keep: 100 };
    for (let i = 0; i < 10; i++) appendLine(small, formatLine(new Date(), 'n', 'box', { i }));
    await begin().now();
    const [first] = segmentsOf(small);
    appendFileSync(first?.path ?? '', `${formatLine(new Date(), 'n', 'box', { i: 10 })}\n`);
    await ingestion?.now();
    expect(await numbers()).toEqual(upTo(11));
  });

  it('writes events and position together: a failure in between leaves neither', async () => {
    recordActivity(stateRoot, 'n', 'box', { i: 0 });
    const append = vi.spyOn(events, 'append').mockImplementationOnce(async (given, tx) => {
      append.mockRestore();
      await events.append(given, tx);
      throw new Error('the machine went down');
    });
    await begin().now();
    expect(await numbers()).toEqual([]);
    await ingestion?.now();
    expect(await numbers()).toEqual([0]);
  });

  it('takes a journal that began anew for a new one', () => {
    const journal: Journal = { folder: join(root, 'other'), name: 'runtime', bytes: 10_000, keep: 3 };
    appendLine(journal, formatLine(new Date(1e12), 'n', 'box', { i: 0 }));
    const { position } = readNew(journal, {});
    expect(readNew(journal, position).lines).toEqual([]);
    rmSync(journal.folder, { recursive: true });
    appendLine(journal, formatLine(new Date(2e12), 'n', 'box', { i: 1 }));
    appendLine(journal, formatLine(new Date(2e12), 'n', 'box', { i: 2 }));
    expect(readNew(journal, position).lines).toHaveLength(2);
  });
});
