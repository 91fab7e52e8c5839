import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { NewEvent } from '../../events/row.ts';
import { createLog } from '../../observe/log.ts';
import { createAudit } from './audit.ts';

const who = { sandbox: 'i1', tenant: 'acme' };
let written: NewEvent[];
let away = false;
const events = {
  async append(batch: NewEvent | readonly NewEvent[]) {
    if (away) throw new Error('away');
    written.push(...([batch].flat() as NewEvent[]));
    return [];
  },
};
const audit = () => createAudit({ events, log: createLog('silent') });

beforeEach(() => {
  written = [];
  away = false;
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

it('writes what was noted, in order, beside the one who notes', async () => {
  const one = audit();
  one.note(who, 'allowed', { exchange: 1 });
  one.note(who, 'ended', { exchange: 1 });
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(600);
  expect(written.map(({ type, subject, tenant, data }) => ({ type, subject, tenant, data }))).toEqual([
    { type: 'sandbox.egress_allowed', subject: { type: 'sandbox', id: 'i1' }, tenant: 'acme', data: { exchange: 1 } },
    { type: 'sandbox.egress_ended', subject: { type: 'sandbox', id: 'i1' }, tenant: 'acme', data: { exchange: 1 } },
  ]);
  await one.stop();
});

it('bounds what one sandbox writes, counts the rest, and leaves others alone', async () => {
  const one = audit();
  for (let n = 0; n < 100_000; n += 1) one.note(who, 'refused', { n });
  one.note({ sandbox: 'i2', tenant: 'acme' }, 'refused', { other: true });
  await vi.advanceTimersByTimeAsync(11_000);
  const mine = written.filter(({ subject }) => subject.id === 'i1');
  const single = mine.filter(({ type }) => type === 'sandbox.egress_refused');
  const summaries = mine.filter(({ type }) => type === 'sandbox.egress_more');
  expect(single.length).toBeLessThan(500);
  expect(summaries).toHaveLength(1);
  expect(single.length + Number(summaries[0]?.data?.refused)).toBe(100_000);
  expect(written.filter(({ subject }) => subject.id === 'i2')).toHaveLength(1);
  await one.stop();
});

it('keeps what the database could not take, and tells the counts at the end', async () => {
  const one = audit();
  away = true;
  one.note(who, 'allowed', { exchange: 1 });
  for (let n = 0; n < 1000; n += 1) one.note(who, 'refused', {});
  await vi.advanceTimersByTimeAsync(2000);
  expect(written).toEqual([]);
  away = false;
  await one.stop();
  expect(written[0]?.data).toEqual({ exchange: 1 });
  const counted = written.find(({ type }) => type === 'sandbox.egress_more');
  expect(written.length - 2 + Number(counted?.data?.refused)).toBe(1000);
});
