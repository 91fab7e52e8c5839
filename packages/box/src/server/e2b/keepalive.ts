/** The items as they come, and undefined whenever none came for that long. Ends when the reader has gone. */
export async function* withKeepalive<T>(items: AsyncIterable<T>, pauseMs: number, signal: AbortSignal): AsyncGenerator<T | undefined> {
  const iterator = items[Symbol.asyncIterator]();
  let next = iterator.next();
  let ended = false;
  try {
    while (!signal.aborted) {
      const result = await nextOrPause(next, pauseMs, signal);
      if (result === undefined) {
        if (!signal.aborted) yield undefined;
        continue;
      }
      ended = result.done === true;
      if (result.done) return;
      yield result.value;
      next = iterator.next();
    }
  } finally {
    // Not awaited: a source that waits for something returns only when that comes. What it still says is nobody's.
    next.catch(() => undefined);
    if (!ended) iterator.return?.().catch(() => undefined);
  }
}

function nextOrPause<T>(next: Promise<T>, pauseMs: number, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      action();
    };
    const stop = (): void => settle(() => resolve(undefined));
    const timer = setTimeout(stop, pauseMs);
    timer.unref();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    next.then(
      (value) => settle(() => resolve(value)),
      (error: Error) => settle(() => reject(error)),
    );
  });
}
