/** Messages of a Connect stream: one byte of flags, four of length, JSON. */

import { BoxError } from '@skillbox/protocol';

const endFlag = 2;

export function encodeMessage(message: unknown): Buffer {
  return encode(0, message);
}

export function encodeEnd(error?: { code: string; message: string }): Buffer {
  return encode(endFlag, error ? { error } : {});
}

/** The one message of a request that is answered by a stream. */
export function decodeRequest(body: Buffer): unknown {
  const whole = body.length >= 5 && body.length === 5 + body.readUInt32BE(1);
  if (!whole || body[0] !== 0) throw new BoxError('bad_request', 'The body is not one plain Connect envelope.');
  return parse(body.subarray(5));
}

export function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new BoxError('bad_request', 'The message is not JSON.', { cause });
  }
}

function encode(flags: number, message: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
}
