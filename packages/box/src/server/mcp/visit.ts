import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../access/caller.ts';
import type { Box } from '../../box.ts';
import type { Ask } from './ask.ts';
import type { Mcp } from './mcp.ts';
import type { MessageStream } from './message-stream.ts';
import { isObject, notificationMessage, type Params } from './rpc.ts';

/** One HTTP request to /mcp, whose caller is known. */
export interface Visit {
  readonly box: Box;
  readonly mcp: Mcp;
  readonly caller: Caller;
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly receivedAt: number;
  readonly origin: string;
  /** Aborts when the connection is gone. */
  readonly gone: AbortSignal;
}

/** What the methods see of it. `stream` is missing for a client that reads none. */
export function askOf(visit: Visit, params: Params, modern: boolean, signal: AbortSignal, stream: MessageStream | undefined): Ask {
  const { box, caller, request, requestId, receivedAt, origin } = visit;
  return { ...{ box, caller, request, requestId, receivedAt, origin, modern, signal }, progress: stream && progressOf(params, stream) };
}

/** Its number only says that there is more: nobody knows how much is still to come. */
function progressOf({ _meta }: Params, stream: MessageStream): Ask['progress'] {
  const progressToken = isObject(_meta) ? _meta.progressToken : undefined;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  let progress = 0;
  return (message) => {
    progress += 1;
    stream.say(notificationMessage('notifications/progress', { progressToken, progress, message }));
  };
}

/** Ends what listens for long once its key is not good any more. Returns what ends the looking. */
export function whileKeyIsGood({ box, request, caller }: Visit, authenticate: () => Promise<Caller>, end: () => void): () => void {
  const timer = setInterval(() => {
    authenticate().then(
      (now) => {
        if (now.tenant !== caller.tenant) end();
      },
      (error) => {
        // Without the database nobody knows; the next look may.
        if ((error as { code?: string }).code === 'unauthorized') end();
        else box.log.debug({ err: error, path: request.url }, 'could not look whether a key is still good');
      },
    );
  }, keyLookMs);
  timer.unref();
  return () => clearInterval(timer);
}

const keyLookMs = 15_000;
