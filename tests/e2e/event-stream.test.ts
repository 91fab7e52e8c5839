/** What happens, as it happens: complete, resumable, and to each only what they may see. */

import type { BoxEvent } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { echoSkill } from './wire.ts';

let box: TestBox;
let tenantA: string;
let tenantB: string;
beforeAll(async () => {
  box = await startTestBox();
  tenantA = await box.newKey('tenant-a', ['skills:read', 'skills:write', 'executions:read', 'executions:run']);
  tenantB = await box.newKey('tenant-b', ['skills:read', 'skills:write', 'executions:read', 'executions:run']);
  await box.push(echoSkill(), tenantA);
  await box.push(echoSkill(), tenantB);
});
afterAll(() => box.stop());

/** Reads until `enough` says so. */
async function listen(key: string, enough: (events: BoxEvent[]) => boolean, { query = '', last }: { query?: string; last?: string } = {}) {
  const end = new AbortController();
  const response = await box.request(`/v1/events/stream${query}`, {
    key,
    signal: end.signal,
    ...(last && { headers: { 'Last-Event-ID': last } }),
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events: BoxEvent[] = [];
  const ids: string[] = [];
  const done = (async () => {
    let text = '';
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data === undefined) continue;
        events.push(JSON.parse(data) as BoxEvent);
        ids.push(/^id: (.*)$/m.exec(block)?.[1] ?? '');
      }
      if (enough(events)) break;
    }
    end.abort();
    return { events, ids };
  })();
  return { done };
}

const ended = (id: string) => (events: BoxEvent[]) =>
  events.some(({ type, subject }) => type === 'execution.finished' && subject.id === id);
const run = async (key: string) => (await box.run('echo', { input: 1 }, key)).execution_id;

it('tells each tenant of its own executions only, and administrators of all', async () => {
  let lastOfA = '';
  let lastOfB = '';
  const hearsA = await listen(tenantA, (events) => lastOfA !== '' && ended(lastOfA)(events));
  const hearsB = await listen(tenantB, (events) => lastOfB !== '' && ended(lastOfB)(events));
  const admin = await listen(box.key, (events) => lastOfA !== '' && ended(lastOfA)(events));
  lastOfB = await run(tenantB);
  lastOfA = await run(tenantA);
  const [ofA, ofB, ofAll] = [(await hearsA.done).events, (await hearsB.done).events, (await admin.done).events];
  expect(new Set(ofA.map(({ tenant }) => tenant))).toEqual(new Set(['tenant-a']));
  expect(new Set(ofB.map(({ tenant }) => tenant))).toEqual(new Set(['tenant-b']));
  expect(new Set(ofAll.map(({ tenant }) => tenant))).toEqual(new Set(['tenant-a', 'tenant-b']));
  expect(ofA.map(({ type }) => type)).toEqual(['execution.created', 'execution.finished']);
});

it('tells nobody but administrators what was audited, and nothing that a key may not read', async () => {
  const reader = await box.newKey('tenant-a', ['skills:read']);
  const hears = await listen(reader, (events) => events.some(({ type }) => type === 'skill.pushed'));
  const auditor = await listen(box.key, (events) => events.some(({ type }) => type === 'skill.pushed'));
  await run(tenantA);
  await box.json('/v1/tenants/tenant-a', { method: 'PUT', body: { slots: 3 } });
  await box.push(echoSkill('second'), tenantA);
  expect((await hears.done).events.map(({ type }) => type)).toEqual(['skill.pushed']);
  expect((await auditor.done).events.map(({ type }) => type)).toContain('audit.tenant.set');
});

it('begins with what was before when asked to, and goes on after Last-Event-ID without loss or repeat', async () => {
  const first = await run(tenantA);
  const begun = await listen(tenantA, ended(first), { query: '?recent=3&type=execution.' });
  const { ids, events } = await begun.done;
  expect(events.length).toBeLessThanOrEqual(3);
  const second = await run(tenantA);
  const third = await run(tenantA);
  const resumed = await (await listen(tenantA, ended(third), { last: ids.at(-1) ?? '' })).done;
  expect(resumed.events.map(({ type, subject }) => [type, subject.id])).toEqual([
    ['execution.created', second],
    ['execution.finished', second],
    ['execution.created', third],
    ['execution.finished', third],
  ]);
});
