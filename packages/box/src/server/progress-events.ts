/**
 * Work that takes long, as events: progress while it goes on, then its result or its error. The work does not wait for who listens:
 * for a slow reader, news of one part replaces what was not sent yet about the same part.
 */

import type { WorkProgress } from '@skillbox/protocol';
import type { StreamEvent } from '../commands/command.ts';

/** Parts that wait to be sent; the oldest news goes first. The result has all of it. */
const mostWaiting = 500;

type Tell = (progress: WorkProgress) => void;

/** Begins at once, whether the events are read or not. `failed`: what is told of an error. */
export function progressEvents(
  work: (tell: Tell) => Promise<unknown>,
  failed: (error: unknown) => unknown,
): AsyncGenerator<StreamEvent, void> {
  const waiting = new Map<string, WorkProgress>();
  let end: Pick<StreamEvent, 'event' | 'data'> | undefined;
  let wake = (): void => undefined;
  const tell: Tell = (progress) => {
    const about = progress.step ? `step ${progress.step.name}` : 'line';
    // Taken out first: what is new stands last.
    waiting.delete(about);
    waiting.set(about, progress);
    const [oldest] = waiting.keys();
    if (waiting.size > mostWaiting && oldest !== undefined) waiting.delete(oldest);
    wake();
  };
  const over = (event: 'result' | 'error', data: unknown): void => {
    end = { event, data };
    wake();
  };
  void work(tell).then(
    (result) => over('result', result),
    (error: unknown) => over('error', failed(error)),
  );
  return read();

  async function* read(): AsyncGenerator<StreamEvent, void> {
    for (let number = 1; ; ) {
      const [next] = waiting;
      if (next) {
        waiting.delete(next[0]);
        yield { id: String(number), event: 'progress', data: next[1] };
        number += 1;
        continue;
      }
      if (end) {
        yield { id: String(number), ...end };
        return;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}
