import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionIdPattern, workSession } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addToTimeline, beatTimeline, beginTimeline, endTimeline, listTimelines, resumeTimeline, showTimeline } from './timeline.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'skillbox-sessions-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const begin = (client = 'acme', label: string | null = 'search is slow') =>
  beginTimeline(state, { client_id: client, label, goal: 'under 100 ms' });
const note = (id: string, message: string, type = 'note') => addToTimeline(state, id, type, { message });

describe('a life', () => {
  it('has the files of the reference, for their owner only', () => {
    const session = begin();
    expect(session.session_id).toMatch(sessionIdPattern);
    expect(workSession.parse(session)).toEqual(session);
    expect(session.path).toBe(join(state, 'logs/clients/acme/sessions', session.session_id));
    expect(readdirSync(session.path).sort()).toEqual(['events.jsonl', 'meta.json']);
    expect(statSync(session.path).mode & 0o777).toBe(0o700);
    for (const file of readdirSync(session.path)) expect(statSync(join(session.path, file)).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(state, 'logs/clients/acme/sessions'))).toEqual([session.session_id]);
    expect(JSON.parse(readFileSync(join(session.path, 'events.jsonl'), 'utf8'))).toEqual({
      ts: session.started_at,
      type: 'session.started',
      client_id: 'acme',
      session_id: session.session_id,
      detail: { label: 'search is slow', goal: 'under 100 ms' },
    });
  });

  it('goes from active to ended and on again, and hands over what was decided and what is open', async () => {
    const { session_id: id } = begin();
    await note(id, 'the index\nwas missing');
    await note(id, 'add it by hand', 'decision');
    await note(id, 'who rebuilds it?', 'question');
    const ended = await endTimeline(state, id, 'completed', 'The index is there.');
    expect(ended).toMatchObject({ state: 'completed', events: 5, summary: 'The index is there.', resumed: 0, stale: false });
    expect(ended.ended_at).toBe(ended.updated_at);
    const { handoff } = showTimeline(state, id);
    expect(handoff).toContain('# search is slow\n');
    expect(handoff).toMatch(/## Goal\n\nunder 100 ms\n\n## Summary\n\nThe index is there\./);
    expect(handoff).toMatch(/## Decisions\n\n- \S+ decision: add it by hand\n/);
    expect(handoff).toMatch(/## Open points\n\n- \S+ question: who rebuilds it\?\n/);
    expect(handoff).toMatch(/## Last notes\n\n- \S+ note: the index was missing\n/);
    expect(handoff).toContain(`skillbox session resume ${id}`);

    const again = await resumeTimeline(state, id);
    expect(again).toMatchObject({ state: 'active', ended_at: null, resumed: 1, events: 6 });
    await note(id, 'done by cron');
    expect(await endTimeline(state, id, 'abandoned', null)).toMatchObject({ state: 'abandoned', events: 8, summary: null });
    const shown = showTimeline(state, id);
    expect(shown.handoff).toContain('- resumed: 1 times');
    expect(shown.timeline.map(({ type }) => type)).toEqual([
      'session.started',
      'note',
      'decision',
      'question',
      'session.ended',
      'session.resumed',
      'note',
      'session.ended',
    ]);
  });

  it.each(['completed', 'failed', 'abandoned'] as const)('takes nothing once it is %s', async (how) => {
    const { session_id: id, path } = begin();
    await endTimeline(state, id, how, null);
    const before = readFileSync(join(path, 'events.jsonl'), 'utf8');
    for (const attempt of [() => note(id, 'late'), () => beatTimeline(state, id), () => endTimeline(state, id, 'failed', null)])
      await expect(attempt()).rejects.toMatchObject({ code: 'session_state_conflict', hint: expect.stringContaining('resume') });
    expect(readFileSync(join(path, 'events.jsonl'), 'utf8')).toBe(before);
    expect(showTimeline(state, id).state).toBe(how);
  });

  it('cannot be resumed while it is active', async () => {
    const { session_id: id } = begin();
    await expect(resumeTimeline(state, id)).rejects.toMatchObject({ code: 'session_state_conflict' });
    expect(showTimeline(state, id).resumed).toBe(0);
  });

  it('is not found when it never was', async () => {
    begin();
    const unknown = '20260102-030405-0a1b2c';
    for (const attempt of [() => note(unknown, 'x'), () => beatTimeline(state, unknown), () => resumeTimeline(state, unknown)])
      await expect(attempt()).rejects.toMatchObject({ code: 'session_not_found', hint: expect.stringContaining('session status') });
    expect(() => showTimeline(state, unknown)).toThrow(expect.objectContaining({ code: 'session_not_found' }));
    expect(() => showTimeline(state, '../../../etc')).toThrow(expect.objectContaining({ code: 'session_not_found' }));
  });
});

describe('signs of life', () => {
  it('is shown as stale after an hour of silence, and changed by nobody', async () => {
    const { session_id: id, path } = begin();
    const meta = JSON.parse(readFileSync(join(path, 'meta.json'), 'utf8'));
    const long = new Date(Date.now() - 2 * 3_600_000);
    const { writeMeta } = await import('./folder.ts');
    writeMeta(path, { ...meta, started_at: long.toISOString(), updated_at: long.toISOString() });
    utimesSync(join(path, 'events.jsonl'), long, long);
    const before = readFileSync(join(path, 'meta.json'), 'utf8');
    expect(showTimeline(state, id)).toMatchObject({ state: 'active', stale: true, updated_at: long.toISOString() });
    expect(listTimelines(state, { limit: 10 })).toMatchObject([{ state: 'active', stale: true }]);
    expect(readFileSync(join(path, 'meta.json'), 'utf8')).toBe(before);
    const beaten = await beatTimeline(state, id);
    expect(beaten.stale).toBe(false);
    expect(Date.now() - Date.parse(beaten.updated_at)).toBeLessThan(5000);
    expect(beaten.events).toBe(1);
  });
});

describe('what a crash or a stranger leaves', () => {
  it('passes over a torn last line, and begins the next on a line of its own', async () => {
    const { session_id: id, path } = begin();
    await note(id, 'one');
    appendFileSync(join(path, 'events.jsonl'), '{"ts":"2026-01-02T03:04:05.000Z","type":"no');
    expect(showTimeline(state, id)).toMatchObject({ events: 2, timeline: [{}, { detail: { message: 'one' } }] });
    await note(id, 'two');
    expect(showTimeline(state, id).timeline.map(({ detail }) => detail.message)).toEqual([undefined, 'one', 'two']);
    expect((await endTimeline(state, id, 'completed', null)).events).toBe(4);
  });

  it('does not take a half-made folder for a session, and sweeps old ones', () => {
    const { path } = begin();
    const half = join(path, '..', '.new-20260102-030405-0a1b2c');
    mkdirSync(half);
    expect(listTimelines(state, { limit: 10 })).toHaveLength(1);
    begin();
    expect(readdirSync(join(path, '..'))).toContain('.new-20260102-030405-0a1b2c');
    utimesSync(half, new Date(0), new Date(0));
    begin();
    expect(readdirSync(join(path, '..')).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('bounds', () => {
  it('refuses an event beyond 64Ki and a timeline beyond 8Mi, and keeps what there is', async () => {
    const { session_id: id, path } = begin();
    await expect(note(id, 'x'.repeat(65 * 1024))).rejects.toMatchObject({ code: 'too_large', hint: expect.stringContaining('file') });
    appendFileSync(join(path, 'events.jsonl'), `${'x'.repeat(8 * 1024 * 1024 - 500)}\n`);
    await expect(note(id, 'y'.repeat(600))).rejects.toMatchObject({ code: 'too_large', hint: expect.stringContaining('session end') });
    expect(await endTimeline(state, id, 'completed', null)).toMatchObject({ events: 2 });
  });

  it('shows the newest thousand events, and tells how many there are', async () => {
    const { session_id: id, path, client_id } = begin();
    const line = (at: number) =>
      `${JSON.stringify({ ts: new Date().toISOString(), type: 'note', client_id, session_id: id, detail: { message: String(at) } })}\n`;
    appendFileSync(join(path, 'events.jsonl'), Array.from({ length: 1500 }, (_, at) => line(at)).join(''));
    const shown = showTimeline(state, id);
    expect(shown.events).toBe(1501);
    expect(shown.timeline).toHaveLength(1000);
    expect(shown.timeline.at(-1)?.detail.message).toBe('1499');
  });
});

it('lists the newest first, by client and state', async () => {
  const first = begin('acme', null);
  await new Promise((wake) => setTimeout(wake, 1100));
  const second = begin('other-client');
  await endTimeline(state, first.session_id, 'failed', null);
  const ids = (filter: Parameters<typeof listTimelines>[1]) => listTimelines(state, filter).map(({ session_id }) => session_id);
  expect(ids({ limit: 10 })).toEqual([second.session_id, first.session_id]);
  expect(ids({ limit: 1 })).toEqual([second.session_id]);
  expect(ids({ client: 'acme', limit: 10 })).toEqual([first.session_id]);
  expect(ids({ state: 'active', limit: 10 })).toEqual([second.session_id]);
  expect(ids({ client: 'nobody', limit: 10 })).toEqual([]);
});
