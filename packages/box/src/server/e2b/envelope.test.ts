import { describe, expect, it } from 'vitest';
import { decodeRequest, encodeEnd, encodeMessage } from './envelope.ts';

describe('envelopes', () => {
  it('carry flags, length and JSON', () => {
    expect(encodeMessage({ a: 'ü' })).toEqual(Buffer.concat([Buffer.from([0, 0, 0, 0, 10]), Buffer.from('{"a":"ü"}')]));
    expect(encodeEnd()).toEqual(Buffer.from([2, 0, 0, 0, 2, 0x7b, 0x7d]));
    expect(JSON.parse(encodeEnd({ code: 'internal', message: 'x' }).subarray(5).toString())).toEqual({
      error: { code: 'internal', message: 'x' },
    });
  });

  it('of a request are read back', () => {
    expect(decodeRequest(encodeMessage({ path: '/a' }))).toEqual({ path: '/a' });
    expect(decodeRequest(Buffer.from([0, 0, 0, 0, 0]))).toEqual({});
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a piece', encodeMessage({ a: 1 }).subarray(0, -1)],
    ['two', Buffer.concat([encodeMessage({}), encodeMessage({})])],
    ['a compressed one', Buffer.from([1, 0, 0, 0, 2, 0x7b, 0x7d])],
    ['what is not JSON', Buffer.from([0, 0, 0, 0, 1, 0x7b])],
  ])('%s is refused', (_name, bytes) => {
    expect(() => decodeRequest(bytes)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });
});
