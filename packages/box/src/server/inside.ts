/**
 * /graph at box.internal: the commands of the graph, over HTTP and MCP, for the workspace. It is an app of its own that has no other route, so
 * that no path leads to anything else of the box. Who asks is said by the channel: no key enters the sandbox, and none that it sends counts.
 */

import type { IncomingMessage } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { BoxError } from '@skillbox/protocol';
import { Hono } from 'hono';
import type { Caller } from '../access/caller.ts';
import { createRateLimiter } from '../access/rate.ts';
import type { Box } from '../box.ts';
import { isForInside } from '../commands/inside.ts';
import { commands } from '../commands/registry.ts';
import type { InternalCall, InternalService } from '../sandbox/egress/internal.ts';
import { Refusal } from '../sandbox/egress/refusal.ts';
import { isPlainPath } from '../sandbox/egress/rules.ts';
import { graphGrants } from '../sandbox/workspace/grants.ts';
import { answer } from './answer.ts';
import { type App, mountCommand } from './app.ts';
import { noteInsider } from './insiders.ts';
import { malformedAnswer } from './malformed.ts';
import { createMcp, type Mcp } from './mcp/mcp.ts';
import { mountMcp } from './mcp/routes.ts';
import { createPacer } from './pacer.ts';
import { createRefusals } from './refusals.ts';
import type { Turnstile } from './turnstile.ts';

export interface Inside extends InternalService {
  readonly mcp: Mcp;
}

/** Of one sandbox: requests at once, streams that it listens to among them. */
export const mostAtOnce = 32;
/** The longest note of a session is 10,000 letters. */
const mostBodyBytes = 2 ** 20;
const sessionLimits = { all: 100, perOwner: 50, idleMs: 30 * 60_000 };

export function createInside(box: Box, turnstile: Turnstile): Inside {
  // What it may send is counted by itself: it takes nothing from the operator, whose tenant it is.
  const own: Box = {
    ...box,
    config: { ...box.config, maxRequestSize: Math.min(box.config.maxRequestSize, mostBodyBytes) },
    rate: createRateLimiter((tenant) => box.tenants.limits(tenant).requests_per_second),
  };
  const pacer = createPacer();
  const mcp = createMcp(own, sessionLimits);
  const app: App = new Hono();
  for (const command of commands.filter(isForInside)) mountCommand(app, own, pacer, command);
  mountMcp(app, own, pacer, mcp);
  app.all('*', (c) =>
    answer(own, c, 'inside', async () => {
      throw new BoxError(
        'forbidden',
        `There is nothing at ${c.req.path.slice(0, 200)} for the workspace: it has the commands of the graph.`,
        {
          hint: 'Run it on the machine of the box.',
        },
      );
    }),
  );
  const listener = getRequestListener(app.fetch, { errorHandler: malformedAnswer });
  const refuse = createRefusals(own, pacer);
  const underWay = new Map<string, number>();

  const serve = async (call: InternalCall): Promise<void> => {
    const { request, response, who } = call;
    request.url = targetOf(call);
    noteInsider(request, callerOf(call));
    const over = new Promise<void>((resolve) => response.once('close', () => resolve()));
    const open = underWay.get(who.sandbox) ?? 0;
    if (open >= mostAtOnce) {
      await refuse(
        new BoxError('rate_limited', `${open} requests of this sandbox are under way already.`, { retryAfter: 1 }),
        request,
        response,
      );
      return over;
    }
    underWay.set(who.sandbox, open + 1);
    const patience = withPatience(request, box.config.bodyTimeout);
    try {
      turnstile.pass(
        request,
        response,
        () => void listener(request, response),
        (error) => void refuse(error, request, response),
      );
      await over;
    } finally {
      patience.end();
      const left = (underWay.get(who.sandbox) ?? 1) - 1;
      if (left > 0) underWay.set(who.sandbox, left);
      else underWay.delete(who.sandbox);
    }
  };
  return { mcp, grants: [graphGrants.use, graphGrants.read], serve };
}

/** Its path and query here. Throws a Refusal for what servers read in different ways, and for web pages. */
function targetOf({ request, rest }: InternalCall): string {
  const target = rest.startsWith('/') ? rest : `/${rest}`;
  if (!isPlainPath(target.split('?', 1)[0] ?? ''))
    throw new Refusal('malformed', 'Paths here have no dots that lead up, no doubled slashes and nothing encoded.');
  // A browser inside may show a page of anybody.
  if (request.headers.origin !== undefined) throw new Refusal('not_allowed', 'Web pages cannot use the commands of the graph.');
  return target;
}

const callerOf = ({ grants, who }: InternalCall): Caller => ({
  tenant: who.tenant,
  actor: { kind: 'agt', id: `workspace:${who.sandbox}` },
  scopes: grants.includes(graphGrants.use) ? ['graph:read', 'graph:use'] : ['graph:read'],
  inside: who.sandbox,
});

/** What is asked may take long, and say nothing meanwhile; what is sent comes from this machine, and so at once. */
function withPatience(request: IncomingMessage, bodyMs: number): { end(): void } {
  const { socket } = request;
  const { timeout = 0 } = socket;
  socket.setTimeout(0);
  const timer = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, bodyMs);
  timer.unref();
  return {
    end() {
      clearTimeout(timer);
      if (!socket.destroyed) socket.setTimeout(timeout);
    },
  };
}
