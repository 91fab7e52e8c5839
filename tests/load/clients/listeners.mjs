// Opens so many event streams, a hundred at a time, says so, holds them for a while, and goes without a word:
// node listeners.mjs '{"url", "path", "key", "number", "holdMs"}'. Prints a line of JSON when all are open, or when no more can be.

import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const { url, path, key, number, holdMs } = JSON.parse(process.argv[2]);
const { hostname, port } = new URL(url);
const answers = {};
let opened = 0;

async function open() {
  while (opened < number) {
    opened += 1;
    const what = await new Promise((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.once('data', (chunk) => resolve(chunk.toString('latin1').split(' ')[1]));
      socket.once('error', (error) => resolve(error.code));
      socket.write(`GET ${path} HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      // What else comes is not looked at.
      socket.resume();
    });
    answers[what] = (answers[what] ?? 0) + 1;
  }
}
await Promise.all(Array.from({ length: 100 }, open));
console.log(JSON.stringify(answers));
await delay(holdMs);
process.exit();
