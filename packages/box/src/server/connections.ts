/** So many connections at once: descriptors are also what sandboxes, files and the database are made with, and must not all be callers'. */

import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { giveLastAnswer } from '../last-answer.ts';
import { rawAnswer } from './malformed.ts';

/** What the setting says, or three quarters of what the system allows. */
export function mostConnections(setting: number, limits: string = readFileSync('/proc/self/limits', 'utf8')): number {
  if (setting > 0) return setting;
  const descriptors = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  return Math.floor(descriptors * 0.75);
}

/** Beyond it a connection is told so and closed. What listens for connections until now, Node itself too, hears only of the others. */
export function limitConnections(server: Server, most: number, onRefused: () => void): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open <= most) {
      for (const listener of listeners) listener.call(server, socket);
      return;
    }
    onRefused();
    // Its closing tells the same.
    socket.on('error', () => undefined);
    giveLastAnswer(socket, rawAnswer(503, 'overloaded', `${most} connections are open already.`, 1));
  });
}
