/** Messages to a client, numbered from 1 and kept for a while: a reader may come late, and may come back. */

export interface MessageStream {
  readonly ended: boolean;
  /** Number of the last message; 0 before the first. */
  readonly last: number;
  say(message: unknown): void;
  /** Nothing comes after that. */
  end(): void;
  /** Resolves when there is a message, or the signal aborts. */
  spoken(signal: AbortSignal): Promise<undefined>;
  /** What comes after number `after`, until it has ended, the signal aborts, or somebody else reads it from now on. */
  read(after: number, signal: AbortSignal): AsyncGenerator<Numbered>;
}

export interface Numbered {
  readonly number: number;
  /** JSON. */
  readonly data: string;
}

/** The oldest go first. Of a call these are its progress: the result comes last. */
const mostMessages = 256;
const mostBytes = 2 ** 20;

export function createMessageStream(): MessageStream {
  const kept: Numbered[] = [];
  let last = 0;
  let size = 0;
  let ended = false;
  let reader = 0;
  let wake = (): void => undefined;
  let spoke = (): void => undefined;
  return {
    get ended() {
      return ended;
    },
    get last() {
      return last;
    },
    say(message) {
      if (ended) return;
      last += 1;
      const data = JSON.stringify(message);
      kept.push({ number: last, data });
      size += data.length;
      while (kept.length > 1 && (kept.length > mostMessages || size > mostBytes)) size -= kept.shift()?.data.length ?? 0;
      spoke();
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    spoken: (signal) =>
      new Promise((resolve) => {
        if (last > 0 || signal.aborted) resolve(undefined);
        spoke = () => resolve(undefined);
        signal.addEventListener('abort', spoke, { once: true });
      }),
    async *read(after, signal) {
      reader += 1;
      const own = reader;
      // Whoever read it before finds out that it is not theirs any more.
      wake();
      let seen = after;
      const stop = (): void => wake();
      signal.addEventListener('abort', stop);
      try {
        while (!signal.aborted && reader === own) {
          const next = kept.find(({ number }) => number > seen);
          if (next) {
            seen = next.number;
            yield next;
            continue;
          }
          if (ended) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
  };
}
