/**
 * Delivers the outbox of one webhook. Deliveries of one subject go one after the other, those of different subjects side by
 * side, so that one that is refused holds up nothing but its own. When nothing is heard from the hub any more, it is asked
 * now and then with one delivery; its first answer sets all free.
 */

import type { Logger } from '../../observe/log.ts';
import type { Hook } from './hooks.ts';
import type { Head, Outbox } from './outbox.ts';
import type { Outcome, Poster } from './post.ts';
import { backoffMs, type Timing } from './timing.ts';

export interface Sender {
  readonly hook: Hook;
  /** Nothing is heard from its hub: new events can wait where they are, until it asks for some. */
  readonly away: boolean;
  /** May send until then, by performance.now(). */
  heldUntil: number;
  /** There may be something to do. */
  wake(): void;
  /** Attempts under way are broken off; whoever comes next makes them again. */
  stop(): Promise<void>;
}

export interface SenderParts {
  readonly hook: Hook;
  readonly outbox: Outbox;
  readonly poster: Poster;
  readonly timing: Timing;
  readonly log: Logger;
  /** Counts. */
  onAttempt(outcome: Outcome['kind'] | 'dead'): void;
  /** It could send more than it has. */
  onIdle(): void;
  /** Looks at new events for this webhook. */
  fill(): Promise<unknown>;
}

/** Either says that the hub is away: nothing was heard about so many subjects, or so often in a row. */
const silentSubjects = 3;
const silentAttempts = 5;
const afterFaultMs = 1000;

export function createSender({ hook, outbox, poster, timing, log, onAttempt, onIdle, fill }: SenderParts): Sender {
  const { key } = hook;
  /** Attempts under way, by subject. */
  const flying = new Map<string, Promise<void>>();
  const stopped = new AbortController();
  let heldUntil = 0;
  let woken = false;
  let wakeUp: (() => void) | undefined;
  /** Since the last answer. */
  const silent = new Set<string>();
  let silence = 0;
  let away = false;
  let probes = 0;
  let probeAt = 0;

  const wake = (): void => {
    woken = true;
    wakeUp?.();
  };

  const sleep = async (ms: number | null): Promise<void> => {
    if (!woken)
      await new Promise<void>((resolve) => {
        wakeUp = resolve;
        // Timers have an end; a longer sleep is several.
        if (ms !== null) setTimeout(resolve, Math.min(ms, 3600_000)).unref();
      });
    woken = false;
    wakeUp = undefined;
  };

  const heardOf = async (): Promise<void> => {
    silent.clear();
    silence = 0;
    if (!away) return;
    await outbox.hubBack(key);
    away = false;
    log.info({ webhook: hook.name, tenant: hook.tenant }, 'the hub of a webhook answers again');
  };

  /** It was asked a few times by now, so not as soon as after a first failure. */
  const askLater = (): void => {
    probes += 1;
    probeAt = performance.now() + backoffMs(probes + 2, timing.retryFirstMs, timing.probeMostMs);
  };

  const notHeardOf = async (subject: string, error: string): Promise<void> => {
    silent.add(subject);
    silence += 1;
    if (away) return askLater();
    if (silent.size < silentSubjects && silence < silentAttempts) return;
    await outbox.hubAway(key);
    away = true;
    probes = 0;
    askLater();
    log.warn({ webhook: hook.name, tenant: hook.tenant, error }, 'the hub of a webhook is away; what it is owed waits');
  };

  const settle = async (head: Head, outcome: Outcome): Promise<void> => {
    onAttempt(outcome.kind);
    if (outcome.kind === 'delivered') {
      await outbox.delivered(key, head.seq, outcome.status);
      return heardOf();
    }
    // Time in which the hub was away does not count: then nothing is wrong with the delivery.
    const hopeless = outcome.kind === 'refused' && !away && head.failingMs > timing.giveUpMs;
    if (hopeless) {
      await outbox.giveUp(key, head.seq, outcome);
      onAttempt('dead');
      log.warn({ webhook: hook.name, tenant: hook.tenant, seq: head.seq, error: outcome.error }, 'a delivery was given up');
    } else await outbox.failed(key, head.seq, outcome, backoffMs(head.attempts + 1, timing.retryFirstMs, timing.retryMostMs));
    if (outcome.kind === 'refused') await heardOf();
    else await notHeardOf(head.subject, outcome.error);
  };

  const deliver = async (head: Head): Promise<void> => {
    const event = await outbox.eventOf(head.seq);
    if (!event) return outbox.giveUp(key, head.seq, { status: null, error: 'the event is no longer there' });
    await settle(head, await poster.post({ id: event.id, body: JSON.stringify(event) }, stopped.signal));
  };

  const launch = (head: Head): void => {
    const flight = deliver(head)
      .catch((error: Error) => {
        if (stopped.signal.aborted) return;
        log.error({ err: error, webhook: hook.name }, 'a delivery could not be recorded; it is made again');
        return new Promise<void>((resolve) => setTimeout(resolve, afterFaultMs).unref());
      })
      .finally(() => {
        flying.delete(head.subject);
        wake();
      });
    flying.set(head.subject, flight);
  };

  /** Starts what can be started; in how many milliseconds to look again, null: when something happens. */
  const step = async (): Promise<number | null> => {
    if (performance.now() >= heldUntil) return null;
    if (away) {
      if (flying.size > 0) return null;
      const wait = probeAt - performance.now();
      if (wait > 0) return wait;
    }
    const free = (away ? 1 : timing.connections) - flying.size;
    if (free <= 0) return null;
    // A hub may be silent only about what waits here: then something new is the better question, now and then.
    if (away && probes % 4 === 0) await fill();
    // As it is now: what ends while the table is read may still look in it as if it waited.
    const except = new Set(flying.keys());
    const { heads, nextMs } = await outbox.heads(key, { limit: free, except, probe: away });
    for (const head of heads) launch(head);
    // Each that ends looks again.
    if (heads.length === free) return null;
    if (away) return Math.max(timing.retryFirstMs, probeAt - performance.now());
    onIdle();
    return nextMs;
  };

  const run = async (): Promise<void> => {
    let known = false;
    while (!stopped.signal.aborted) {
      let pause: number | null = afterFaultMs;
      try {
        // What another process, or this one before a restart, found out.
        if (!known) away = await outbox.isAway(key);
        known = true;
        pause = await step();
      } catch (error) {
        log.error({ err: error, webhook: hook.name }, 'the outbox of a webhook could not be read; it is tried again');
      }
      if (!stopped.signal.aborted) await sleep(pause);
    }
  };
  const running = run();

  return {
    hook,
    get away() {
      return away;
    },
    get heldUntil() {
      return heldUntil;
    },
    set heldUntil(at) {
      const idle = performance.now() >= heldUntil;
      heldUntil = at;
      if (idle) wake();
    },
    wake,
    async stop() {
      stopped.abort();
      wake();
      await Promise.all([running, ...flying.values()]);
      poster.close();
    },
  };
}
