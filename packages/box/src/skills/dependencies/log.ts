/** A build log with its beginning and its end; what is too long is left out in the middle. */

import { StringDecoder } from 'node:string_decoder';

export interface BuildLog {
  add(bytes: Buffer): void;
  /** A line of ours. */
  say(text: string): void;
  readonly text: string;
}

const keptAtEachEnd = 64 * 1024;

export function createBuildLog(): BuildLog {
  const decoder = new StringDecoder('utf8');
  let head = '';
  let tail = '';
  let left = 0;
  const append = (text: string): void => {
    // NUL is the one character that not every database takes.
    const clean = text.replaceAll('\0', '\uFFFD');
    const room = keptAtEachEnd - head.length;
    head += clean.slice(0, Math.max(0, room));
    tail += clean.slice(Math.max(0, room));
    if (tail.length <= keptAtEachEnd) return;
    left += tail.length - keptAtEachEnd;
    tail = tail.slice(-keptAtEachEnd);
  };
  return {
    add: (bytes) => append(decoder.write(bytes)),
    say(text) {
      const broken = (tail || head) !== '' && !(tail || head).endsWith('\n');
      append(`${broken ? '\n' : ''}[skillbox] ${text}\n`);
    },
    get text() {
      return left === 0 ? head + tail : `${head}\n[skillbox] ${left} characters are left out here\n${tail}`;
    },
  };
}
