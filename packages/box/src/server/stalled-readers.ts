/**
 * Ends connections whose other side has stopped reading. What waits to be sent holds memory, and what makes it may hold more: an open
 * file, a program in a sandbox. A reader may be slow; one that takes nothing at all for a whole period is gone, or might as well be.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export function endStalledReaders(server: Server, periodMs: number): void {
  /** What was left for each when it was last looked at. */
  const stalled = new Map<Socket, number>();
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      stalled.delete(socket);
    });
  });
  // One timer for all of them: there may be thousands, and nearly all have nothing to send.
  const timer = setInterval(() => {
    for (const socket of sockets) {
      const left = unsent(socket);
      if (left > 0 && stalled.get(socket) === left) socket.destroy();
      else if (left > 0) stalled.set(socket, left);
      else stalled.delete(socket);
    }
  }, periodMs);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

/** Of one large piece Node only says when all of it is sent; the handle, which Node's own timeouts look at too, knows how far it is. */
function unsent(socket: Socket): number {
  if (socket.writableLength === 0) return 0;
  const { writeQueueSize } = (socket as Socket & { _handle?: { writeQueueSize?: number } | null })._handle ?? {};
  return socket.writableLength + (writeQueueSize ?? 0);
}
