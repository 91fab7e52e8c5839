import type { Sandbox, Snapshot } from '@skillbox/sdk';
import { expect, it } from 'vitest';
import { familyOf, type Member } from './family.ts';

const sandbox = (id: string, created_at: string, origin: Sandbox['origin'] = null) => ({ id, created_at, origin }) as Sandbox;
const snapshot = (id: string, of: string, created_at: string) => ({ id, sandbox: of, created_at }) as Snapshot;

const drawn = ({ id, record, children }: Member): unknown => [record ? id : `(${id})`, ...children.map(drawn)];

const all = [
  sandbox('i-root', '1'),
  sandbox('i-fork', '2', { sandbox: 'i-root', snapshot: null }),
  sandbox('i-new', '4', { sandbox: 'i-root', snapshot: 's-clean' }),
  sandbox('i-late', '6', { sandbox: 'i-new', snapshot: 's-deleted' }),
  sandbox('i-stranger', '1'),
];
const taken = [snapshot('s-clean', 'i-root', '3'), snapshot('s-two', 'i-root', '5'), snapshot('s-other', 'i-stranger', '2')];

it('is the same tree for every member, oldest first, with what was deleted in its place', () => {
  const tree = ['i-root', ['i-fork'], ['s-clean', ['i-new', ['(s-deleted)', ['i-late']]]], ['s-two']];
  for (const id of ['i-root', 'i-fork', 'i-new', 'i-late']) expect(drawn(familyOf(id, all, taken))).toEqual(tree);
  expect(drawn(familyOf('i-stranger', all, taken))).toEqual(['i-stranger', ['s-other']]);
});

it('begins with the oldest that is still known of', () => {
  expect(drawn(familyOf('i-x', [sandbox('i-x', '9', { sandbox: 'i-gone', snapshot: null })], []))).toEqual(['(i-gone)', ['i-x']]);
});

it('ends also where records go round', () => {
  const round = [sandbox('i-a', '1', { sandbox: 'i-b', snapshot: null }), sandbox('i-b', '2', { sandbox: 'i-a', snapshot: null })];
  expect(JSON.stringify(drawn(familyOf('i-a', round, [])))).toContain('i-b');
});
