import { BoxError, type ErrorCode, errorKinds } from '@skillbox/protocol';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { errorAnswer } from './errors.ts';

const silent = pino({ level: 'silent' });

it('has a status, a message and a hint for every code', () => {
  for (const [code, kind] of Object.entries(errorKinds)) {
    const { status, body } = errorAnswer(new BoxError(code as ErrorCode, 'What happened.'), 'id', silent);
    // What describes the end of an execution is no answer; as one it means that a part of the box failed.
    expect(status, code).toBe(kind.status === 200 ? 503 : kind.status);
    expect(body.hint, code).toMatch(/\S/);
    expect(body.request_id).toBe('id');
  }
});

it('tells nothing of a fault of the box', () => {
  for (const error of [new Error('secret path'), new BoxError('internal', 'secret path', { details: 'secret' }), 'secret', undefined]) {
    const { status, body } = errorAnswer(error, 'id', silent);
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('secret');
  }
});

it('says when to come back, and how to name oneself', () => {
  expect(errorAnswer(new BoxError('queue_full', 'x', { retryAfter: 3 }), 'id', silent).headers).toEqual({ 'Retry-After': '3' });
  expect(errorAnswer(new BoxError('shutting_down', 'x'), 'id', silent).headers).toEqual({ 'Retry-After': '5' });
  expect(errorAnswer(new BoxError('unauthorized', 'x'), 'id', silent).headers).toEqual({ 'WWW-Authenticate': 'Bearer' });
});
