/** One attempt to deliver. It follows no redirect, reads no more of an answer than its status, and waits no longer than told. */

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { version } from '../../version.ts';
import type { Destination } from './destination.ts';
import { type Message, signedHeaders } from './signature.ts';
import type { Timing } from './timing.ts';

/** refused: the hub is there and does not take this one. away: nothing says that it is there. */
export type Outcome =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'refused'; readonly status: number; readonly error: string }
  | { readonly kind: 'away'; readonly status: number | null; readonly error: string };

export interface Poster {
  /** Rejects only when the signal aborts. */
  post(message: Message, signal: AbortSignal): Promise<Outcome>;
  close(): void;
}

export interface PosterOptions extends Pick<Timing, 'timeoutMs' | 'connections'> {
  readonly url: string;
  readonly secret: string;
  readonly destination: Destination;
}

/** So much of an answer is read for the sake of the connection; whoever sends more loses it. */
const mostAnswerBytes = 64 * 1024;
/** Below the five seconds after which many servers close an idle connection. */
const idleMs = 3000;
/** What stands before a hub that is gone says these. */
const awayStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export function createPoster({ url, secret, destination, timeoutMs, connections }: PosterOptions): Poster {
  const secure = new URL(url).protocol === 'https:';
  const options = { keepAlive: true, maxSockets: connections, timeout: idleMs };
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  const refusal = destination.refusal(url);

  const attempt = (message: Message, signal: AbortSignal): Promise<{ readonly response: IncomingMessage }> =>
    new Promise((fulfil, reject) => {
      const request = (secure ? httpsRequest : httpRequest)(url, {
        ...{ method: 'POST', agent, signal, lookup: destination.lookup },
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(message.body),
          'User-Agent': `skillbox/${version}`,
          ...signedHeaders(secret, message),
        },
      });
      request.on('response', (response) => {
        dropBody(response);
        fulfil({ response });
      });
      request.on('error', (error: NodeJS.ErrnoException) => reject(Object.assign(error, { reused: request.reusedSocket })));
      request.end(message.body);
    });

  return {
    async post(message, signal) {
      if (refusal !== undefined) return { kind: 'away', status: null, error: refusal };
      const late = AbortSignal.timeout(timeoutMs);
      const both = AbortSignal.any([signal, late]);
      // A connection that was kept may have been closed by the other side just now; that says nothing about the hub.
      const first = attempt(message, both).catch((error: Error & { reused?: boolean }) => {
        if (error.reused && !both.aborted) return attempt(message, both);
        throw error;
      });
      try {
        return judge((await first).response.statusCode ?? 0);
      } catch (error) {
        signal.throwIfAborted();
        if (late.aborted) return { kind: 'away', status: null, error: `no answer within ${timeoutMs / 1000} s` };
        return { kind: 'away', status: null, error: `no answer: ${(error as Error).message}` };
      }
    },
    close: () => agent.destroy(),
  };
}

function judge(status: number): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (awayStatuses.has(status)) return { kind: 'away', status, error: `it answered ${status}` };
  if (status >= 300 && status < 400)
    return { kind: 'refused', status, error: `it answered ${status}, and redirects are not followed: name the address itself` };
  return { kind: 'refused', status, error: `it answered ${status}` };
}

function dropBody(response: IncomingMessage): void {
  let bytes = 0;
  // What goes wrong after the status changes nothing.
  response.on('error', () => undefined);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostAnswerBytes) response.destroy();
  });
}
