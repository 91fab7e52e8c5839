import { appendFileSync, closeSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLogFile, rotateLog, tailOfFile } from './log-file.ts';

let folder: string;
let log: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-log-'));
  log = join(folder, 'a', 'service.log');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('a log is bounded, keeps its newest parts, and its writer goes on without a gap', () => {
  const writer = openLogFile(log);
  for (let round = 1; round <= 5; round++) {
    writeSync(writer, `round ${round} ${'x'.repeat(100)}\n`);
    expect(rotateLog(log, { maxBytes: 50, keep: 3 })).toBe(true);
    expect(statSync(log).size).toBe(0);
  }
  writeSync(writer, 'after\n');
  closeSync(writer);
  expect(rotateLog(log, { maxBytes: 50, keep: 3 })).toBe(false);
  expect(readFileSync(log, 'utf8')).toBe('after\n');
  expect([1, 2, 3].map((at) => readFileSync(`${log}.${at}`, 'utf8').slice(0, 7))).toEqual(['round 5', 'round 4', 'round 3']);
  expect(statSync(`${log}.4`, { throwIfNoEntry: false })).toBeUndefined();
  expect(statSync(`${log}.1`).mode & 0o777).toBe(0o600);
});

it('a log that is not there needs no rotation and has no lines', () => {
  expect(rotateLog(join(folder, 'none'))).toBe(false);
  expect(tailOfFile(join(folder, 'none'), 5)).toEqual([]);
});

it('last lines come from the end, over many blocks, and not from before a start', () => {
  const file = join(folder, 'large');
  const lines = Array.from({ length: 40_000 }, (_, at) => `line ${at} é`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  expect(tailOfFile(file, 3)).toEqual(lines.slice(-3));
  expect(tailOfFile(file, 20_000)).toEqual(lines.slice(-20_000));
  const before = statSync(file).size;
  expect(tailOfFile(file, 3, before)).toEqual([]);
  appendFileSync(file, 'new\nunfinished');
  expect(tailOfFile(file, 5, before)).toEqual(['new', 'unfinished']);
  expect(tailOfFile(file, 1)).toEqual(['unfinished']);
});
