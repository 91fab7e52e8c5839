import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GraphGround, graph, hostPlace, service as makeService, newGround } from '../../../../../tests/support/graph.ts';
import { logBounds, sizeOfFile } from '../../process/log-file.ts';
import type { Log } from '../graph.ts';
import { startService, stopService } from '../services/control.ts';
import { readServiceRecord, readServiceRecords } from '../services/records.ts';
import { keepLogs, pulseLogBounds, pulseLogFile } from './upkeep.ts';

let ground: GraphGround;
let said: string[];
beforeEach(() => {
  ground = newGround();
  mkdirSync(ground.stateRoot, { recursive: true });
  said = [];
});
afterEach(() => ground.remove());

const log = (id: string, path: string, retentionDays: number | undefined): Log => ({
  ...{ id, client: undefined, required: false, profiles: [], notes: undefined, origin: { file: 'skillbox.yaml', line: 1 } },
  ...{ place: hostPlace(path), retentionDays },
});
const aged = (path: string, days: number): string => {
  writeFileSync(path, 'line\n');
  const at = (Date.now() - days * 24 * 3600_000) / 1000;
  utimesSync(path, at, at);
  return path;
};

it('files of a declared log go when they are older than it says, at most once an hour; all else stays', async () => {
  const [kept, short] = [join(ground.folder, 'kept'), join(ground.folder, 'short')];
  for (const folder of [kept, short, join(short, 'sessions')]) mkdirSync(folder);
  const outside = aged(join(ground.folder, 'outside'), 400);
  for (const folder of [kept, short, join(short, 'sessions')]) for (const days of [1, 6, 8, 400]) aged(join(folder, `${days}.log`), days);
  symlinkSync(outside, join(short, 'link.log'));
  const declared = graph({ logs: [log('kept', kept, undefined), log('short', short, 7)] });
  const look = () => keepLogs(ground.runtime, [declared], [], (text) => void said.push(text));
  await look();
  expect(readdirSync(short).sort()).toEqual(['1.log', '6.log', 'link.log', 'sessions']);
  expect(readdirSync(join(short, 'sessions'))).toHaveLength(4);
  expect(readdirSync(kept)).toHaveLength(4);
  expect(existsSync(outside)).toBe(true);
  expect(said.join('\n')).toContain('2 files older than 7 days');
  aged(join(short, 'late.log'), 8);
  await look();
  expect(readdirSync(short)).toContain('late.log');
});

it('its own log is cut too, and only so many of the old ones stay', async () => {
  const file = pulseLogFile(ground.stateRoot);
  mkdirSync(join(file, '..'), { recursive: true });
  for (let round = 0; round < 4; round++) {
    writeFileSync(file, `${round}`.repeat(pulseLogBounds.maxBytes + 1), { flag: 'a' });
    await keepLogs(ground.runtime, [], [], (text) => void said.push(text));
  }
  expect(sizeOfFile(file)).toBeLessThan(pulseLogBounds.maxBytes);
  expect(readdirSync(join(file, '..')).sort()).toEqual(['pulse.log', 'pulse.log.1', 'pulse.log.2']);
});

it('a service that goes on writing while its log is cut loses no line', async () => {
  // About 24 MB in a few seconds: two cuts at least, while it writes.
  const command = 'for i in $(seq 0 299); do seq $((i * 10000 + 1)) $((i * 10000 + 10000)); sleep 0.01; done; echo all; exec sleep 600';
  const one = makeService(ground.folder, { id: 'loud', command });
  const options = { mode: 'reuse', selection: { profiles: [] }, restarts: 0, waitMs: undefined } as const;
  expect(await startService(ground.runtime, graph({ services: [one] }), one, options)).toMatchObject({ result: 'started' });
  try {
    const file = readServiceRecord(ground.stateRoot, 'loud')?.log ?? '';
    const last = (): string => (existsSync(file) ? readFileSync(file, 'utf8').slice(-4) : '');
    for (const since = performance.now(); last() !== 'all\n' && performance.now() - since < 60_000; await sleep(50))
      await keepLogs(ground.runtime, [], readServiceRecords(ground.stateRoot), (text) => void said.push(text));
    const files = [`${file}.3`, `${file}.2`, `${file}.1`, file].filter(existsSync);
    expect(files.length).toBeGreaterThan(2);
    expect(sizeOfFile(file)).toBeLessThan(logBounds.maxBytes);
    const lines = files
      .map((path) => readFileSync(path, 'utf8'))
      .join('')
      .split('\n');
    expect(lines.slice(-2)).toEqual(['all', '']);
    const wrong = lines.slice(0, -2).findIndex((line, at) => line !== String(at + 1));
    expect([lines.length - 2, wrong]).toEqual([3_000_000, -1]);
    expect(said).toEqual([]);
  } finally {
    await stopService(ground.runtime, one, { wanted: false });
  }
}, 120_000);
