/** Everything that holds for every answer: request id, errors, log line, metrics. */

import { randomUUID } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { ErrorBody } from '@skillbox/protocol';
import type { Context } from 'hono';
import type { Box } from '../box.ts';
import { dropRest } from './body.ts';
import { errorAnswer } from './errors.ts';
import { goneStatus, isGone } from './gone.ts';

export type AppContext = Context<{ Bindings: HttpBindings }>;

/** `inWords`: an error in the words of another protocol than ours. */
export async function answer(
  box: Box,
  c: AppContext,
  route: string,
  handle: (requestId: string, receivedAt: number) => Promise<Response>,
  inWords: (body: ErrorBody, status: number) => unknown = (body) => body,
): Promise<Response> {
  const started = performance.now();
  const given = c.req.header('x-request-id');
  const requestId = given && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
  let response: Response;
  try {
    response = await handle(requestId, started);
  } catch (error) {
    response = isGone(error, c.req.raw.signal) ? leave() : await refuse(error);
  }
  response.headers.set('X-Request-ID', requestId);
  response.headers.set('X-Content-Type-Options', 'nosniff');
  const ms = performance.now() - started;
  box.metrics.requests.inc({ method: c.req.method, route, status: response.status });
  box.metrics.requestSeconds.observe({ route }, ms / 1000);
  box.log.info({ request_id: requestId, method: c.req.method, route, status: response.status, ms: Number(ms.toFixed(2)) }, 'request');
  return response;

  function leave(): Response {
    box.log.debug({ request_id: requestId, route }, 'a caller went away before its answer');
    return new Response(null, { status: goneStatus });
  }

  async function refuse(error: unknown): Promise<Response> {
    const { status, headers, body } = errorAnswer(error, requestId, box.log);
    if (status === 429) box.metrics.refused.inc({ reason: body.error });
    const refusal = new Response(JSON.stringify(inWords(body, status)), {
      status,
      headers: { 'Content-Type': 'application/json', ...headers },
    });
    // What was not read of a refused body would be taken for the next request.
    if (!(await dropRest(c.env.incoming))) refusal.headers.set('Connection', 'close');
    return refusal;
  }
}
