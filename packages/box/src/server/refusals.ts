/** Refusals at the door: told with as little work as an answer can be, counted, and logged once a second and not one by one. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BoxError } from '@skillbox/protocol';
import type { Box } from '../box.ts';
import { dropRest } from './body.ts';
import { errorAnswer } from './errors.ts';
import { requestIdOf } from './http-heads.ts';
import type { Pacer } from './pacer.ts';
import { callerOf } from './turnstile.ts';

const logEveryMs = 1000;

export type Refuse = (error: BoxError, request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createRefusals({ log, metrics }: Pick<Box, 'log' | 'metrics'>, pacer: Pacer): Refuse {
  const counted = new Map<string, number>();
  let logging = false;
  const count = (code: string): void => {
    counted.set(code, (counted.get(code) ?? 0) + 1);
    if (logging) return;
    logging = true;
    setTimeout(() => {
      logging = false;
      log.warn({ refused: Object.fromEntries(counted) }, 'more requests than the box can read: some were refused at the door');
      counted.clear();
    }, logEveryMs).unref();
  };

  return async (error, request, response) => {
    const { status, headers, body } = errorAnswer(error, requestIdOf(request), log);
    count(error.code);
    metrics.refused.inc({ reason: error.code });
    metrics.requests.inc({ method: request.method ?? '', route: 'door', status });
    await pacer.refusal(callerOf(request));
    const whole = await dropRest(request);
    if (response.destroyed) return;
    response.writeHead(status, {
      ...headers,
      'Content-Type': 'application/json',
      'X-Request-ID': body.request_id,
      'X-Content-Type-Options': 'nosniff',
      ...(!whole && { Connection: 'close' }),
    });
    response.end(JSON.stringify(body));
  };
}
