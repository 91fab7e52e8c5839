import { expect, it } from 'vitest';
import { parseMetadataFilter } from './metadata-filter.ts';

it('reads what the SDK was seen to send', () => {
  const query = new URLSearchParams('metadata=a%3Db%252520c');
  expect(parseMetadataFilter(query.get('metadata') ?? '')).toEqual({ a: 'b c' });
  expect(parseMetadataFilter('a=b&c=100%25')).toEqual({ a: 'b', c: '100%' });
});
