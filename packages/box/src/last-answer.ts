/** The last answer on a connection: no request can come of it any more. */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** How long the other side has to read it and close in turn. */
const lingerMs = 2000;

const given = new WeakSet<Duplex>();

/** What still arrives on such a connection is nobody's concern. */
export const hasLastAnswer = (socket: Duplex): boolean => given.has(socket);

/** For what Node's parser gave up as `error`. */
export function giveAnswerTo(error: NodeJS.ErrnoException, socket: Duplex, answer: string): void {
  if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') {
    giveLastAnswer(socket, answer);
    return;
  }
  given.add(socket);
  // Its parser still reads: what the sender completes now would be done though it was refused.
  socket.end(answer, () => socket.destroy());
}

/** Where no parser reads any more, or nobody hears what it reads. One that cannot be told anything is closed. */
export function giveLastAnswer(socket: Duplex, answer: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  given.add(socket);
  socket.end(answer);
  linger(socket);
}

/** The answer to this one, whose head says that the connection ends with it, is the last. Node would close over what was not read. */
export function makeLast({ socket }: IncomingMessage): void {
  given.add(socket);
  let ended = false;
  socket.destroySoon = () => {
    if (!ended) linger(socket.end());
    ended = true;
  };
}

/**
 * What still comes is read and dropped: a connection that is closed over unread bytes is reset, and the answer is lost on its way. Who does
 * not close is closed: half a connection costs a descriptor like a whole one.
 */
function linger(socket: Duplex): void {
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}
