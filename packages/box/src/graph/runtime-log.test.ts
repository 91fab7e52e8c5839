import { execFile } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatLine, parseLine } from './journal/line.ts';
import { appendLine, type Journal, segmentsOf } from './journal/segments.ts';
import { recentActivity, recordActivity, runtimeJournal } from './runtime-log.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skillbox-journal-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const linesOf = (journal: Journal): string[] =>
  segmentsOf(journal).flatMap(({ path }) => readFileSync(path, 'utf8').split('\n').slice(0, -1));

describe('a line of the runtime log', () => {
  it('is time, type, subject and JSON, and can be read back', () => {
    const line = formatLine(new Date('2026-03-04T05:06:07.890Z'), 'service.started', 'service:web', { pid: 7, mode: 'reuse' });
    expect(line).toBe('2026-03-04T05:06:07 service.started service:web {"pid":7,"mode":"reuse"}');
    expect(parseLine(line)).toEqual({
      ...{ time: '2026-03-04T05:06:07.000Z', type: 'service.started', subject: 'service:web', data: { pid: 7, mode: 'reuse' } },
    });
  });

  it('stays one line of printable text whatever it tells', () => {
    const odd = 'a\nb\rc\u0000d\u001b[31me\u0085f\u2028g\u009bh\ud800i 100%';
    const line = formatLine(new Date(), 'check.failed', `check:${odd}`, { detail: odd });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there.
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
    expect(line.split(' ')[2]).toContain('check:a%0Ab');
    expect(parseLine(line)).toMatchObject({ subject: `check:${odd.replace('\ud800', '\ufffd')}`, data: { detail: odd } });
  });

  it('is bounded, and still says what it can', () => {
    const line = formatLine(new Date(), 'task.failed', 'task:t', {
      exit: 3,
      tail: Array.from({ length: 500 }, (_, i) => `${i} ${'x'.repeat(300)}`),
    });
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8192);
    expect(parseLine(line)?.data).toMatchObject({ exit: 3 });
    expect(parseLine(formatLine(new Date(), 'x', 'y', { text: 'é'.repeat(1_000_000) }))?.data.text).toMatch(/^é{1000,}…$/);
    const names = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`name-${i}`, i]));
    expect(parseLine(formatLine(new Date(), 'x', 'y', names))?.data).toEqual({ cut: true });
  });

  it('holds no secret that slipped in', () => {
    const key = `sk-${'0123456789abcdef'.repeat(3)}`;
    const line = formatLine(new Date(), 'repo.failed', 'repo:https://me:hunter2@example.org/x.git', {
      url: 'https://someone:hunter2@example.org/x.git',
      password: 'hunter2',
      nested: [{ API_KEY: 'hunter2', message: `run with DB_PASSWORD=hunter2 --token hunter2 and ${key}` }],
      header: 'Authorization: Bearer hunter2hunter2',
      pem: '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----',
    });
    expect(line).not.toContain('hunter2');
    expect(line).not.toContain(key);
    expect(parseLine(line)?.data.url).toBe('https://[redacted]@example.org/x.git');
  });

  it('takes no time over something long that looks almost like a secret', () => {
    const from = performance.now();
    formatLine(new Date(), 'x', 'y', { a: 'token-'.repeat(200_000), b: 'a.'.repeat(500_000), c: 'a'.repeat(2_000_000) });
    expect(performance.now() - from).toBeLessThan(3000);
  });
});

describe('the runtime log', () => {
  it('is one line after another under runtime.log, for its owner only', () => {
    recordActivity(root, 'sync.started', 'box');
    recordActivity(root, 'sync.finished', 'box', { changed: false });
    const file = join(root, 'logs', 'runtime', 'runtime.log');
    expect(readFileSync(file, 'utf8')).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d sync\.started box \{\}\n\S+ sync\.finished box \{"changed":false\}\n$/,
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(recentActivity(root, 1).map(({ type }) => type)).toEqual(['sync.finished']);
    expect(recentActivity(root, 10).map(({ type }) => type)).toEqual(['sync.started', 'sync.finished']);
  });

  it('is empty, and not made, when nothing happened yet', () => {
    expect(recentActivity(root, 5)).toEqual([]);
    expect(readdirSync(root)).toEqual([]);
  });

  it('goes on after half a line that a crash left, and leaves that one out', () => {
    recordActivity(root, 'a', 'box');
    recordActivity(root, 'b', 'box', { long: 'x'.repeat(100) });
    const [segment] = segmentsOf(runtimeJournal(root));
    if (!segment) throw new Error('no segment');
    truncateSync(segment.path, statSync(segment.path).size - 20);
    expect(recentActivity(root, 10).map(({ type }) => type)).toEqual(['a']);
    recordActivity(root, 'c', 'box');
    expect(recentActivity(root, 10).map(({ type }) => type)).toEqual(['a', 'c']);
  });

  it('leaves out what somebody else wrote into it', () => {
    recordActivity(root, 'a', 'box');
    const [segment] = segmentsOf(runtimeJournal(root));
    appendFileSync(segment?.path ?? '', 'hello\n\n2026-01-01T00:00:00 b box {"x":\n2026-99-99T00:00:00 c box {}\n');
    expect(recentActivity(root, 10).map(({ type }) => type)).toEqual(['a']);
  });

  it('begins another file before one grows beyond its bound, keeps a few, and is read across them', () => {
    const journal: Journal = { ...runtimeJournal(root), bytes: 1000, keep: 3 };
    for (let i = 0; i < 200; i++) appendLine(journal, formatLine(new Date(), 'n', 'box', { i }));
    const segments = segmentsOf(journal);
    expect(segments).toHaveLength(3);
    for (const { path } of segments) expect(statSync(path).size).toBeLessThanOrEqual(1000);
    expect(readlinkSync(join(journal.folder, 'runtime.log'))).toBe(`runtime-${String(segments.at(-1)?.number).padStart(6, '0')}.log`);
    expect(recentActivity(root, 40).map(({ data }) => data.i)).toEqual(Array.from({ length: 40 }, (_, i) => 160 + i));
  });

  it('goes on when somebody removed its folder or put a file in the way of its name', () => {
    recordActivity(root, 'a', 'box');
    rmSync(join(root, 'logs'), { recursive: true });
    recordActivity(root, 'b', 'box');
    rmSync(join(root, 'logs', 'runtime', 'runtime.log'));
    writeFileSync(join(root, 'logs', 'runtime', 'runtime.log'), '');
    recordActivity(root, 'c', 'box');
    expect(recentActivity(root, 10).map(({ type }) => type)).toEqual(['b', 'c']);
    expect(readFileSync(join(root, 'logs', 'runtime', 'runtime.log'), 'utf8')).toContain(' c box ');
  });

  it('tears and loses no line when several processes write and rotate at once', async () => {
    const program = join(root, 'writer.mjs');
    await build({
      stdin: {
        contents: `import { appendLine } from './journal/segments.ts'; import { formatLine } from './journal/line.ts';
          const [folder, who, count] = process.argv.slice(2);
          const journal = { folder, name: 'runtime', bytes: 20_000, keep: 1000 };
          for (let i = 0; i < Number(count); i++) appendLine(journal, formatLine(new Date(), 'n', 'box', { who, i, fill: 'x'.repeat(i % 700) }));`,
        resolveDir: import.meta.dirname,
        loader: 'ts',
      },
      ...{ bundle: true, format: 'esm', platform: 'node', outfile: program, logLevel: 'error' },
    });
    const journal: Journal = { folder: join(root, 'many'), name: 'runtime', bytes: 20_000, keep: 1000 };
    const [writers, each] = [6, 400];
    const run = promisify(execFile);
    await Promise.all(Array.from({ length: writers }, (_, who) => run(process.execPath, [program, journal.folder, `${who}`, `${each}`])));
    // An empty line: somebody saw the line of another half there and took it for the remains of a crash.
    const written = linesOf(journal).filter((line) => line !== '');
    const lines = written.map((line) => parseLine(line)?.data as { who: string; i: number } | undefined);
    expect(lines).not.toContain(undefined);
    expect(new Set(lines.map((line) => `${line?.who}/${line?.i}`)).size).toBe(writers * each);
    expect(lines).toHaveLength(writers * each);
    // Each may have passed the bound by what the others wrote between its look and its line.
    for (const { path } of segmentsOf(journal)) expect(statSync(path).size).toBeLessThanOrEqual(20_000 + writers * 1000);
    expect(readdirSync(journal.folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  }, 60_000);
});
