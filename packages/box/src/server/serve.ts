/** A running server: opens the box, listens, and goes down in order. */

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { BoxError } from '@skillbox/protocol';
import { type Box, openBox } from '../box.ts';
import type { Config } from '../config.ts';
import { hasLastAnswer } from '../last-answer.ts';
import { createLog, type Logger } from '../observe/log.ts';
import { removeServerRecord, writeServerRecord } from '../state.ts';
import { createApp } from './app.ts';
import { limitConnections, mostConnections } from './connections.ts';
import { passOn } from './forward.ts';
import { createInside } from './inside.ts';
import { answerMalformed, malformedAnswer } from './malformed.ts';
import { createMcp, type Mcp } from './mcp/mcp.ts';
import { mayBelongElsewhere } from './owner.ts';
import { createPacer } from './pacer.ts';
import { previewTarget, servePreview } from './preview.ts';
import { createRefusals } from './refusals.ts';
import { endSlowBodies } from './slow-bodies.ts';
import { endStalledReaders } from './stalled-readers.ts';
import { createTurnstile, type Turnstile } from './turnstile.ts';
import { serveUpgrades } from './websocket.ts';

export interface RunningServer {
  readonly box: Box;
  readonly url: string;
  /** Answers 503 to what comes, lets what runs finish, closes. */
  stop(): Promise<void>;
}

/** How long answers may take to be read once the executions have ended. */
const answerGraceMs = 2000;

/** What may wait to be read. With a millisecond or two for each, a caller that waits behind all of them waits for a few seconds. */
const doorLimits = { perCaller: 200, all: 2000 };

export async function startServer(config: Config, log: Logger = createLog(config.logLevel)): Promise<RunningServer> {
  const box = await openBox(config, log);
  const turnstile = createTurnstile(doorLimits);
  const mcp = createMcp(box);
  const inside = createInside(box, turnstile);
  box.internal.set('graph', inside);
  const server = createServer(
    // A body may take as long as it likes, while it moves.
    // A caller that vanished without a word is noticed by the system after keepAliveInitialDelay and some ten probes.
    {
      ...{ requestTimeout: 0, headersTimeout: 20_000, keepAliveTimeout: 65_000, requireHostHeader: false },
      ...{ keepAlive: true, keepAliveInitialDelay: 60_000 },
    },
    requestListener(box, turnstile, mcp),
  );
  server.on('connection', () => turnstile.connected());
  const upgrades = serveUpgrades(server, box);
  answerMalformed(server);
  endSlowBodies(server, config.bodyTimeout);
  endStalledReaders(server, config.bodyTimeout);
  limitConnections(server, mostConnections(config.maxConnections), () => box.metrics.refused.inc({ reason: 'overloaded' }));
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // The system cuts it to what it allows. A connection for which there is no room is tried again by the caller's system, seconds later.
      server.listen({ port: config.port, host: config.bind, backlog: 4096 }, resolve);
    });
  } catch (error) {
    await box.stop();
    throw listenError(error as NodeJS.ErrnoException, config);
  }
  const { port } = server.address() as AddressInfo;
  const url = `http://${config.bind.includes(':') ? `[${config.bind}]` : config.bind}:${port}`;
  try {
    await box.start(config.advertiseUrl ?? url, port);
  } catch (error) {
    server.close();
    server.closeAllConnections();
    await box.stop();
    throw error;
  }
  writeServerRecord(config.stateRoot, { url, host: box.host, version: box.version });
  const { ready, layers } = box.provider.report;
  log.info({ url, host: box.host, sandbox: box.provider.report.facts, ready }, 'the box is up');
  for (const layer of layers.filter(({ present }) => !present))
    log.warn({ layer: layer.name, accepted: layer.accepted, detail: layer.detail, fix: layer.fix }, 'a layer of the sandbox is missing');

  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    log.info({ running: box.executions.running }, 'stopping');
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    // Who only listens would hold up the stop; who waits for a run hears its end first.
    mcp.stopListening();
    inside.mcp.stopListening();
    await box.executions.drain(config.drainTimeout);
    mcp.close();
    inside.mcp.close();
    // Those who waited for a run still have to read its record, and the database has to be there for it.
    await closeWhenIdle(server, closed);
    server.closeAllConnections();
    upgrades.close();
    await closed;
    await box.stop();
    removeServerRecord(config.stateRoot);
    log.info('stopped');
  };
  return {
    box,
    url,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** What belongs to another host goes there; previews are passed on as they come; everything else is the app's. */
function requestListener(box: Box, turnstile: Turnstile, mcp: Mcp): RequestListener {
  const pacer = createPacer();
  const app = getRequestListener(createApp(box, pacer, mcp).fetch, { errorHandler: malformedAnswer });
  const refuse = createRefusals(box, pacer);
  const answer: RequestListener = (request, response) => {
    const preview = previewTarget(box, request);
    if (preview) void servePreview(box, preview, request, response);
    else void app(request, response);
  };
  const inTurn =
    (listener: RequestListener): RequestListener =>
    (request, response) => {
      if (hasLastAnswer(request.socket)) return;
      turnstile.pass(
        request,
        response,
        () => void listener(request, response),
        (error) => void refuse(error, request, response),
      );
    };
  if (!mayBelongElsewhere(box)) return inTurn(answer);
  return inTurn((request, response) => {
    // Whoever cannot find out answers as well as it can: without the database that is a 503.
    void passOn(box, request, response).then(
      (passed) => passed || answer(request, response),
      (error) => {
        box.log.error({ err: error }, 'could not find out which host a request belongs to');
        answer(request, response);
      },
    );
  });
}

/** Closes connections as they finish their answers, for as long as a slow reader may take. */
async function closeWhenIdle(server: Server, closed: Promise<void>): Promise<void> {
  const late = new Promise<'late'>((resolve) => setTimeout(resolve, answerGraceMs, 'late').unref());
  const nudge = setInterval(() => server.closeIdleConnections(), 20);
  await Promise.race([closed, late]);
  clearInterval(nudge);
}

function listenError(error: NodeJS.ErrnoException, { bind, port }: Config): Error {
  if (error.code !== 'EADDRINUSE') return error;
  return new BoxError('start_failed', `Port ${port} on ${bind} is in use by another program.`, {
    hint: 'Choose another with --port or SKILLBOX_API_PORT, or stop what uses it: ss -ltnp.',
  });
}
