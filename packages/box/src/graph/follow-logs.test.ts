import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { followLogs, type LogEvent, logPlaces } from './follow-logs.ts';

let folder: string;
let end: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-follow-'));
  end = new AbortController();
});
afterEach(() => {
  end.abort();
  rmSync(folder, { recursive: true, force: true });
});

const logOf = (service: string, text?: string) => {
  const path = join(folder, `${service}.log`);
  if (text !== undefined) writeFileSync(path, text);
  return { service, path };
};

async function take(events: AsyncGenerator<LogEvent>, count: number): Promise<LogEvent[]> {
  const taken: LogEvent[] = [];
  while (taken.length < count) {
    const { value, done } = await events.next();
    if (done) throw new Error('it ended by itself');
    taken.push(value);
  }
  return taken;
}
const lines = (events: readonly LogEvent[]): string[] => events.map(({ data }) => `${data.service}: ${data.line}`);

it('begins with the last lines and goes on with what is written, also of a log that is not there yet', async () => {
  const web = logOf('web', 'one\ntwo\nthree\n');
  const api = logOf('api');
  const events = followLogs(logPlaces([web, api], 2), end.signal);
  expect(lines(await take(events, 2))).toEqual(['web: two', 'web: three']);
  appendFileSync(api.path, 'hello\n');
  expect(lines(await take(events, 1))).toEqual(['api: hello']);
  appendFileSync(web.path, 'four\n');
  expect(lines(await take(events, 1))).toEqual(['web: four']);
});

it('goes on after the line whose id is given, without loss or repeat', async () => {
  const [web, api] = [logOf('web', 'a\nb\nc\n'), logOf('api', 'x\ny\n')];
  const first = await take(followLogs(logPlaces([web, api], 10), end.signal), 4);
  expect(lines(first)).toEqual(['web: a', 'web: b', 'web: c', 'api: x']);
  appendFileSync(web.path, 'd\n');
  const rest = await take(followLogs(logPlaces([web, api], 10, first.at(-1)?.id), end.signal), 2);
  expect(lines(rest).sort()).toEqual(['api: y', 'web: d']);
});

it('takes an id that it did not give for none', async () => {
  const web = logOf('web', 'a\nb\n');
  for (const id of ['', 'NaN', '1.2.3', '../../etc', '9'.repeat(400)])
    expect(lines(await take(followLogs(logPlaces([web], 1, id), end.signal), 1))).toEqual(['web: b']);
});

it('reads a log that was emptied in place from its beginning', async () => {
  const web = logOf('web', 'a rather long first line\n');
  const events = followLogs(logPlaces([web], 5), end.signal);
  await take(events, 1);
  truncateSync(web.path, 0);
  appendFileSync(web.path, 'new\n');
  expect(lines(await take(events, 1))).toEqual(['web: new']);
});

it('shows a line that stays without its end, and cuts one that is endless between two letters', async () => {
  const web = logOf('web', 'name? ');
  const events = followLogs(logPlaces([web], 5), end.signal);
  expect(lines(await take(events, 1))).toEqual(['web: name? ']);
  writeFileSync(web.path, `${'ü'.repeat(100_000)}\n`);
  const long = await take(followLogs(logPlaces([web], 1), end.signal), 4);
  expect(long.map(({ data }) => data.line).join('')).toBe('ü'.repeat(100_000));
  expect(long.every(({ data }) => !data.line.includes('\ufffd'))).toBe(true);
});

it('ends with the signal, also while it waits', async () => {
  const events = followLogs(logPlaces([logOf('web', '')], 5), end.signal);
  const next = events.next();
  end.abort();
  expect((await next).done).toBe(true);
});
