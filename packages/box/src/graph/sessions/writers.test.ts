/** Several processes at one session, and one of them killed at any moment. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleProgram } from '../../../../../tests/support/program.ts';
import { addToTimeline, beginTimeline, endTimeline, showTimeline } from './timeline.ts';

let state: string;
let program: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'skillbox-writers-'));
  // Says a number only once its event is kept.
  program = await bundleProgram(`
    import { addToTimeline } from './packages/box/src/graph/sessions/timeline.ts';
    const [state, id, name, count] = process.argv.slice(2);
    for (let at = 0; at < Number(count); at += 1) {
      await addToTimeline(state, id, 'note', { message: name + ' ' + at, padding: 'x'.repeat((at * 37) % 900) });
      process.stdout.write(at + '\\n');
    }
  `);
});
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(state, { recursive: true, force: true });
});

function writer(id: string, name: string, count: number) {
  const child = spawn(process.execPath, [program, state, id, name, String(count)], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let [said, wrong] = ['', ''];
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  child.stderr.on('data', (chunk) => {
    wrong += chunk;
  });
  const gone = once(child, 'close').then(() => children.delete(child));
  return { child, gone, kept: () => said.split('\n').filter(Boolean).length, wrong: () => wrong };
}

const messages = (path: string): string[] =>
  readFileSync(join(path, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).detail.message)
    .filter((message) => message !== undefined);

it('keeps each event of eight processes with 200 each, whole and in the order of its writer', async () => {
  const { session_id: id, path } = beginTimeline(state, { client_id: 'acme', label: null, goal: null });
  const writers = Array.from({ length: 8 }, (_, at) => writer(id, `w${at}`, 200));
  await Promise.all(writers.map(({ gone }) => gone));
  expect(writers.map(({ wrong }) => wrong()).join('')).toBe('');
  const kept = messages(path);
  for (let at = 0; at < 8; at += 1)
    expect(kept.filter((message) => message.startsWith(`w${at} `))).toEqual(Array.from({ length: 200 }, (_, n) => `w${at} ${n}`));
  expect(showTimeline(state, id).events).toBe(1601);
}, 120_000);

it('loses nothing that was acknowledged, and holds nobody up, when writers are killed in the middle', async () => {
  const { session_id: id, path } = beginTimeline(state, { client_id: 'acme', label: null, goal: null });
  const writers = Array.from({ length: 4 }, (_, at) => writer(id, `k${at}`, 100_000));
  for (const [at, { child, gone, kept }] of writers.entries()) {
    while (kept() < 20 + at * 7) await new Promise((wake) => setTimeout(wake, 3));
    child.kill('SIGKILL');
    await gone;
  }
  const begun = performance.now();
  await addToTimeline(state, id, 'note', { message: 'after' });
  expect(performance.now() - begun).toBeLessThan(5000);
  const kept = messages(path);
  for (const [at, one] of writers.entries()) {
    const own = kept.filter((message) => message.startsWith(`k${at} `));
    expect(own.length).toBeGreaterThanOrEqual(one.kept());
    expect(own.length).toBeLessThanOrEqual(one.kept() + 1);
    expect(own).toEqual(own.map((_, n) => `k${at} ${n}`));
  }
  expect((await endTimeline(state, id, 'completed', null)).events).toBe(kept.length + 2);
}, 60_000);

it('adds nothing after the end, however many write at that moment', async () => {
  const { session_id: id } = beginTimeline(state, { client_id: 'acme', label: null, goal: null });
  const writers = Array.from({ length: 4 }, (_, at) => writer(id, `e${at}`, 100_000));
  while (writers.some(({ kept }) => kept() < 10)) await new Promise((wake) => setTimeout(wake, 3));
  await endTimeline(state, id, 'completed', 'over');
  await Promise.all(writers.map(({ gone }) => gone));
  for (const { wrong } of writers) expect(wrong()).toContain('session_state_conflict');
  const { timeline, events } = showTimeline(state, id);
  expect(timeline.at(-1)?.type).toBe('session.ended');
  expect(events).toBe(1 + writers.reduce((sum, { kept }) => sum + kept(), 0) + 1);
}, 60_000);
