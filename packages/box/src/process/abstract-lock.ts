/** A lock that the kernel frees with the process: an abstract socket. It cannot go stale and leaves no file. */

import { createServer } from 'node:net';

export interface AbstractLock {
  release(): void;
}

/** undefined when another process holds it. Names are per network namespace. */
export function tryLock(name: string): Promise<AbstractLock | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen({ path: `\0skillbox-${name}` }, () => resolve({ release: () => void server.close() }));
  });
}
