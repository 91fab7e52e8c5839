import type { BoxEvent, CreditEntry } from '@skillbox/sdk';
import { expect, it } from 'vitest';
import { toCsv } from './event-export.ts';
import { perDay } from './per-day.ts';

const event = (id: string, data = {}): BoxEvent => ({
  ...{ seq: 7, id: 'evt_1', time: '2026-01-02T03:04:05.000Z', tenant: 'default', host: 'h', type: 'audit.key.create' },
  ...{ actor: { kind: 'adm', id: 'key_1' }, subject: { type: 'key', id }, data },
});

it('a spreadsheet reads exported events as text, whatever is in them', () => {
  const [head, one, two] = toCsv([event('=1+1', { a: 'x,"y"\n' }), event('plain')]).split('\r\n');
  expect(head).toBe('seq,time,tenant,actor_kind,actor_id,host,type,subject_type,subject_id,data');
  expect(one).toContain(",'=1+1,");
  expect(one).toContain('"{""a"":""x,\\""y\\""\\n""}"');
  expect(two).toBe('7,2026-01-02T03:04:05.000Z,default,adm,key_1,h,audit.key.create,key,plain,{}');
});

it('credits by day have every day, thirty at most', () => {
  const entry = (time: string, kind: CreditEntry['kind'], amount: number): CreditEntry => ({
    ...{ seq: 1, time, kind, amount, tenant: 'default', sandbox: null, note: null, actor: 'adm:x' },
  });
  const now = Date.parse('2026-03-31T12:00:00Z');
  const days = perDay(
    [entry('2026-03-30T01:00:00Z', 'grant', 5), entry('2026-03-31T01:00:00Z', 'settle', 2), entry('2026-03-31T01:00:00Z', 'hold', 9)],
    now,
  );
  expect(days).toHaveLength(7);
  expect(days.slice(-2)).toEqual([
    { label: '2026-03-30', values: [5, 0] },
    { label: '2026-03-31', values: [0, 2] },
  ]);
  expect(perDay([entry('2020-01-01T00:00:00Z', 'grant', 1)], now)).toHaveLength(30);
});
