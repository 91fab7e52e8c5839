/** What holds for every answer in this protocol: errors as `{code, message}`, a log line, metrics. */

import type { HttpBindings } from '@hono/node-server';
import { BoxError } from '@skillbox/protocol';
import type { Context } from 'hono';
import type { Box } from '../../box.ts';
import type { Logger } from '../../observe/log.ts';
import { dropRest } from '../body.ts';
import { goneStatus, isGone } from '../gone.ts';

/** A status that only this protocol knows. */
export class E2bError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export async function answer(
  box: Box,
  c: Context<{ Bindings: HttpBindings }>,
  route: string,
  handle: () => Promise<Response>,
): Promise<Response> {
  const started = performance.now();
  let response: Response;
  try {
    response = await handle();
  } catch (error) {
    response = errorResponse(error, box.log, c.req.raw.signal);
    if (response.status === 429) box.metrics.refused.inc({ reason: 'rate_limited' });
    // What was not read of a refused body would be taken for the next request.
    if (!(await dropRest(c.env.incoming))) response.headers.set('Connection', 'close');
  }
  response.headers.set('X-Content-Type-Options', 'nosniff');
  const ms = performance.now() - started;
  box.metrics.requests.inc({ method: c.req.method, route, status: response.status });
  box.metrics.requestSeconds.observe({ route }, ms / 1000);
  box.log.info({ method: c.req.method, route, status: response.status, ms: Number(ms.toFixed(2)) }, 'request');
  return response;
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } });

export const noContent = (): Response => new Response(null, { status: 204 });

function errorResponse(error: unknown, log: Logger, caller: AbortSignal): Response {
  if (isGone(error, caller)) {
    log.debug('a caller went away before its answer');
    return new Response(null, { status: goneStatus });
  }
  if (error instanceof E2bError) return json({ code: error.status, message: error.message }, error.status);
  if (!(error instanceof BoxError) || error.code === 'internal') {
    log.error({ err: error }, 'a request failed');
    return json({ code: 500, message: 'The box could not answer this request.' }, 500);
  }
  // A code that describes the end of a run has no status of its own; as an answer it means that a part failed.
  const status = error.status === 200 ? 503 : error.status;
  const busy = error.retryAfter !== undefined || status === 503 || status === 429;
  const headers: Record<string, string> = busy ? { 'Retry-After': String(error.retryAfter ?? 5) } : {};
  return json({ code: status, message: `${error.message} ${error.hint}`.trim() }, status, headers);
}
