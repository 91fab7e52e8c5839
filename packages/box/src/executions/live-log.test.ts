import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { createLiveLog, type LogEntry, logText, parseSpool } from './live-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-log-'));
afterAll(() => rmSync(folder, { recursive: true }));
const spoolPath = () => join(folder, `${randomUUID()}.jsonl`);
const never = new AbortController().signal;

async function collect(entries: AsyncIterable<LogEntry>): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

it('numbers from 1, in order, and ends with the status', async () => {
  const log = createLiveLog(spoolPath());
  const reading = collect(log.follow(0, never));
  log.status('running');
  log.write('stdout', Buffer.from('a'));
  log.write('stderr', Buffer.from('b'));
  log.close('success');
  log.write('stdout', Buffer.from('too late'));
  const entries = await reading;
  expect(entries.map(({ seq, type, text }) => [seq, type, text])).toEqual([
    [1, 'status', 'running'],
    [2, 'stdout', 'a'],
    [3, 'stderr', 'b'],
    [4, 'status', 'success'],
  ]);
  expect(logText(entries)).toBe('ab');
  expect(await collect(log.follow(2, never))).toEqual(entries.slice(2));
  expect(await collect(log.follow(99, never))).toEqual([]);
});

it('puts letters together that come in pieces, for each stream by itself', () => {
  const log = createLiveLog(spoolPath());
  const euro = Buffer.from('€');
  log.write('stdout', euro.subarray(0, 1));
  log.write('stderr', Buffer.from('x'));
  log.write('stdout', euro.subarray(1));
  log.write('stderr', euro.subarray(0, 2));
  log.close('failed');
  expect(log.entries.map(({ type, text }) => [type, text])).toEqual([
    ['stderr', 'x'],
    ['stdout', '€'],
    ['stderr', '\ufffd'],
    ['status', 'failed'],
  ]);
});

it('shows NUL as what no terminal minds', () => {
  const log = createLiveLog(spoolPath());
  log.write('stdout', Buffer.from('a\0b'));
  expect(log.entries[0]?.text).toBe('a\ufffdb');
});

it('lets a reader go that has gone', async () => {
  const log = createLiveLog(spoolPath());
  const controller = new AbortController();
  const reading = collect(log.follow(0, controller.signal));
  log.status('running');
  await delay(5);
  controller.abort();
  expect(await reading).toHaveLength(1);
});

it('of thousands of readers who leave, each costs what one costs', async () => {
  const log = createLiveLog(spoolPath());
  log.status('running');
  const readers = Array.from({ length: 10_000 }, () => {
    const controller = new AbortController();
    return { controller, reading: collect(log.follow(0, controller.signal)) };
  });
  await delay(20);
  const started = performance.now();
  for (const { controller } of readers) {
    controller.abort();
    await Promise.resolve();
  }
  await Promise.all(readers.map(({ reading }) => reading));
  // Some 30 ms; when each woke all others it was half a minute.
  expect(performance.now() - started).toBeLessThan(3000);
});

it('keeps on disk what a run that lasts has said, and nothing of one that does not', async () => {
  const path = spoolPath();
  const log = createLiveLog(path);
  log.status('running');
  log.write('stdout', Buffer.from('line\n'));
  await delay(650);
  expect(log.spooled).toBe(true);
  log.write('stdout', Buffer.from('more\n'));
  await delay(650);
  expect(parseSpool(readFileSync(path, 'utf8'))).toEqual(log.entries);
  const quick = createLiveLog(spoolPath());
  quick.status('running');
  quick.close('success');
  await delay(550);
  expect(quick.spooled).toBe(false);
});

it('reads a spool up to where it breaks off', () => {
  const entry = { seq: 1, type: 'stdout', time: '2026-01-01T00:00:00.000Z', text: 'a' };
  expect(parseSpool(`${JSON.stringify(entry)}\n{"seq":2,"ty`)).toEqual([entry]);
  expect(parseSpool(`${JSON.stringify(entry)}\n{"seq":2,"text":"}`)).toEqual([entry]);
  expect(parseSpool('')).toEqual([]);
});

it('goes on when the disk does not', async () => {
  const errors: Error[] = [];
  const log = createLiveLog(join(folder, 'no', 'such', 'folder'), (error) => errors.push(error));
  log.status('running');
  await delay(600);
  expect(errors).toMatchObject([{ code: 'ENOENT' }]);
  log.write('stdout', Buffer.from('still here'));
  log.close('success');
  expect(log.entries).toHaveLength(3);
});
