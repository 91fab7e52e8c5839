/**
 * Ends requests whose body has stopped arriving. There is no limit to how long a body takes as a whole: a large file over a
 * slow line may take hours. One that hardly moves only holds a connection.
 */

import type { IncomingMessage, Server } from 'node:http';

/** What must arrive in each period. */
const leastBytes = 1024;

export function endSlowBodies(server: Server, periodMs: number): void {
  server.on('request', (request: IncomingMessage) => {
    const { socket } = request;
    if (!hasBody(request)) return;
    let before = socket.bytesRead;
    let waits = false;
    const timer = setInterval(() => {
      if (request.complete || request.destroyed) return clearInterval(timer);
      const arrived = socket.bytesRead - before;
      before = socket.bytesRead;
      // What waits to be read, or did a moment ago, is held up by us and not by the sender.
      const waited = waits;
      waits = request.readableLength > 0;
      if (arrived >= leastBytes || waits || waited) return;
      clearInterval(timer);
      const error = Object.assign(new Error('The body stopped arriving.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      server.emit('clientError', error, socket);
    }, periodMs);
    timer.unref();
    request.once('close', () => clearInterval(timer));
  });
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
