import { BoxError } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { RemoteError } from './client.ts';
import { exitCodeOf, failureBody, failureText } from './failure.ts';
import { createPaint } from './paint.ts';

const text = (error: unknown) => failureText(error, createPaint(false));

describe('an error', () => {
  it('is a message, what to do, and the request id', () => {
    const error = new RemoteError('skill_not_found', 'There is no skill x.', { hint: 'List them.', requestId: 'r-1' });
    expect(text(error)).toBe('Error: There is no skill x.\nList them.\nRequest id: r-1');
    expect(failureBody(error)).toEqual({
      error: 'skill_not_found',
      message: 'There is no skill x.',
      hint: 'List them.',
      request_id: 'r-1',
    });
    expect(exitCodeOf(error)).toBe(4);
  });

  it('lists what else is wrong', () => {
    const details = {
      problems: [
        { path: '/a', message: 'one' },
        { path: '/b', message: 'two' },
      ],
    };
    expect(text(new BoxError('invalid_input', '/a: one', { hint: 'h', details }))).toBe('Error: /a: one\n  /b: two\nh');
  });

  it('says how long to wait', () => {
    expect(text(new BoxError('queue_full', 'Full.', { retryAfter: 7 }))).toContain('Wait for 7 seconds');
  });

  it('of a box cannot steer the terminal', () => {
    expect(text(new RemoteError('not_found', 'a\x1b[2Jb', { hint: 'c\x07', requestId: 'd' }))).toBe('Error: ab\nc\nRequest id: d');
  });

  it('that nobody foresaw is a fault of the CLI, with its stack', () => {
    expect(failureBody(new TypeError('oops'))).toMatchObject({ error: 'internal', message: 'oops' });
    expect(text(new TypeError('oops'))).toContain('failure.test.ts');
    expect(exitCodeOf(new TypeError('oops'))).toBe(8);
  });
});
