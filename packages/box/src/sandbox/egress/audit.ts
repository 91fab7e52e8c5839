/**
 * Every decision of the proxy becomes an event of its sandbox, written in batches beside the requests. A sandbox that asks without
 * end gets a bounded number of events; what is beyond is counted, and the counts are events too.
 */

import type { Events } from '../../events/events.ts';
import type { NewEvent } from '../../events/row.ts';
import type { Logger } from '../../observe/log.ts';

/** A sandbox, as the channel knows it. */
export interface Who {
  readonly sandbox: string;
  readonly tenant: string;
}

export type AuditType = 'allowed' | 'refused' | 'ended';

export interface Audit {
  note(who: Who, type: AuditType, data: Readonly<Record<string, unknown>>): void;
  /** Writes what waits. Never rejects: what could not be written waits on, as long as there is room. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const flushEveryMs = 500;
/** Events of one sandbox: so many at once, and so many more each second. */
const burst = 400;
const perSecond = 10;
const summaryEveryMs = 10_000;
/** Of all sandboxes, while the database is away. */
const mostWaiting = 20_000;
const rowsPerFlush = 2000;

interface Account {
  readonly who: Who;
  left: number;
  filledAt: number;
  counts: Record<AuditType, number>;
  countedSince: number;
}

export function createAudit({ events, log }: { readonly events: Pick<Events, 'append'>; readonly log: Logger }): Audit {
  const accounts = new Map<string, Account>();
  let waiting: NewEvent[] = [];
  let flushing: Promise<void> | undefined;

  const accountOf = (who: Who): Account => {
    const known = accounts.get(who.sandbox);
    if (known) return known;
    const made = { who, left: burst, filledAt: Date.now(), counts: { allowed: 0, refused: 0, ended: 0 }, countedSince: 0 };
    accounts.set(who.sandbox, made);
    return made;
  };

  const summarize = (account: Account): void => {
    const { counts, countedSince, who } = account;
    waiting.push(eventOf(who, 'more', { ...counts, since: new Date(countedSince).toISOString() }));
    account.counts = { allowed: 0, refused: 0, ended: 0 };
    account.countedSince = 0;
  };

  /** Those who have been quiet long enough to be full again need no account. */
  const tidy = (all: boolean): void => {
    const now = Date.now();
    for (const [id, account] of accounts) {
      if (account.countedSince > 0 && (all || now - account.countedSince >= summaryEveryMs)) summarize(account);
      if (account.countedSince === 0 && now - account.filledAt > (burst / perSecond) * 1000) accounts.delete(id);
    }
  };

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, rowsPerFlush);
      await events.append(batch);
      waiting = waiting.slice(batch.length);
    }
  };

  const flush = (): Promise<void> => {
    flushing ??= write()
      .catch((error: Error) => log.warn({ err: error, waiting: waiting.length }, 'decisions of the egress proxy could not be written yet'))
      .finally(() => {
        flushing = undefined;
      });
    return flushing;
  };

  const timer = setInterval(() => {
    tidy(false);
    void flush();
  }, flushEveryMs);
  timer.unref();

  return {
    note(who, type, data) {
      const account = accountOf(who);
      const now = Date.now();
      account.left = Math.min(burst, account.left + ((now - account.filledAt) / 1000) * perSecond);
      account.filledAt = now;
      if (account.left >= 1 && waiting.length < mostWaiting) {
        account.left -= 1;
        waiting.push(eventOf(who, type, data));
        return;
      }
      account.counts[type] += 1;
      account.countedSince ||= now;
    },
    flush,
    async stop() {
      clearInterval(timer);
      tidy(true);
      await flush();
      // One that was under way may have begun before the last ones came.
      await flush();
    },
  };
}

const eventOf = ({ sandbox, tenant }: Who, type: AuditType | 'more', data: Readonly<Record<string, unknown>>): NewEvent => ({
  tenant,
  actor: { kind: 'atm', id: 'egress' },
  subject: { type: 'sandbox', id: sandbox },
  type: `sandbox.egress_${type}`,
  data: { ...data },
});
