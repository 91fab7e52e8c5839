/** The table of rules in docs/network.md says what the rules do. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAuthority } from './hosts.ts';
import { decide, parsePolicy } from './rules.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../../docs/network.md'), 'utf8');
const rows = (page.split('\n## Rules\n')[1]?.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)));

it('has the table', () => {
  expect(rows.length).toBeGreaterThanOrEqual(7);
});

it.each(rows.map(([, [rule = ''] = [], allowed = [], refused = []]) => ({ rule, allowed, refused })))(
  '$rule',
  ({ rule, allowed, refused }) => {
    const policy = parsePolicy('allow', [rule.startsWith('{') ? JSON.parse(rule) : rule]);
    const passes = (text: string): boolean => {
      const [, method = '', authority = '', path] = /^(\w+) ([^/]+)(\/.*)?$/.exec(text) ?? [];
      const { host, port = 0 } = parseAuthority(authority);
      try {
        return decide(policy, { method, host, port, path }) !== undefined;
      } catch (error) {
        expect(error).toMatchObject({ reason: 'not_allowed' });
        return false;
      }
    };
    expect(allowed.length * refused.length).toBeGreaterThan(0);
    expect(allowed.filter((text) => !passes(text))).toEqual([]);
    expect(refused.filter(passes)).toEqual([]);
  },
);
