import { describe, expect, it } from 'vitest';
import { nearestName } from './suggest.ts';

const keys = ['version', 'name', 'sandbox', 'tenants', 'accept_missing'];

describe('nearestName', () => {
  it.each([
    ['tenant', 'tenants'],
    ['snadbox', 'sandbox'],
    ['Version', 'version'],
    ['accept-missing', 'accept_missing'],
    ['naem', 'name'],
  ])('%s is near %s', (word, expected) => expect(nearestName(word, keys)).toBe(expected));

  it.each(['services', '', 'x', 'zzzzzzz'])('nothing is near %j', (word) => expect(nearestName(word, keys)).toBeUndefined());

  it('is not slowed down by a huge word', () => {
    const before = performance.now();
    nearestName('x'.repeat(200_000), keys);
    expect(performance.now() - before).toBeLessThan(50);
  });
});
