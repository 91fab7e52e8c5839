import { BoxError } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { diskTrouble } from './disk-trouble.ts';

describe('trouble with the disk', () => {
  it('is said in words, as something that passes', () => {
    const error = Object.assign(new Error("EROFS: read-only file system, open 'x'"), { code: 'EROFS' });
    expect(diskTrouble(error)).toMatchObject({
      ...{ code: 'unavailable', status: 503, retryAfter: 10, message: expect.stringContaining('it is read-only (EROFS') },
    });
  });

  it('is not everything that fails', () => {
    for (const other of [new TypeError('x'), Object.assign(new Error('gone'), { code: 'ENOENT' }), new BoxError('not_found', 'x'), null])
      expect(diskTrouble(other)).toBeUndefined();
  });
});
