/** The E2B protocol: the same sandboxes as /v1, in the words of another SDK. Control and data plane share one prefix. */

import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Box } from '../../box.ts';
import { orElsewhere } from '../elsewhere.ts';
import { answer, E2bError } from './answer.ts';
import { controlRoutes } from './control.ts';
import { answerData, type DataRequest } from './data-plane.ts';
import { sandboxOfHost } from './hosts.ts';
import { snapshotRoutes } from './snapshots.ts';

type App = Hono<{ Bindings: HttpBindings }>;

const prefix = '/e2b';

export function mountE2b(app: App, box: Box): void {
  app.use('*', async (c, next) => {
    const sandbox = sandboxOfHost(c.req.header('host'));
    return sandbox ? serveData(box, c, c.req.path, sandbox) : next();
  });
  for (const { method, path, run } of [...controlRoutes, ...snapshotRoutes]) {
    app.on(method, prefix + path, (c) => {
      const { incoming: request } = c.env;
      const call = { box, request, params: c.req.param(), query: queryOf(c) };
      return answer(box, c, prefix + path, () => run(call).catch((error) => orElsewhere(box, request, error)));
    });
  }
  // The SDK drops the prefix of its base address from signed addresses.
  app.on(['GET', 'POST'], '/files', (c) => serveData(box, c, '/files', c.req.header('e2b-sandbox-id')));
  app.all(`${prefix}/*`, (c) => serveData(box, c, c.req.path.slice(prefix.length), c.req.header('e2b-sandbox-id')));
}

function serveData(box: Box, c: Context<{ Bindings: HttpBindings }>, path: string, sandbox?: string): Promise<Response> {
  const request: DataRequest = {
    ...{ box, path, sandbox },
    method: c.req.method,
    request: c.env.incoming,
    query: queryOf(c),
    signal: c.req.raw.signal,
  };
  return answer(box, c, `${prefix}${knownPath.test(path) ? path : '/*'}`, async () => {
    if (!knownPath.test(path)) throw new E2bError(404, `The E2B protocol of this box has nothing at ${c.req.method} ${path}.`);
    return answerData(request);
  });
}

const knownPath = /^\/(files|health|process\.Process\/\w{1,40}|filesystem\.Filesystem\/\w{1,40})$/;

const queryOf = (c: Context): URLSearchParams => new URL(c.req.url).searchParams;
