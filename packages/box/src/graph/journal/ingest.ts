/** The runtime log as events of the box, so that there is one history: streams, webhooks and the dashboard see what pulse and the CLI did. */

import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import type { Activity } from '@skillbox/protocol';
import type { Events } from '../../events/events.ts';
import type { NewEvent } from '../../events/row.ts';
import type { Logger } from '../../observe/log.ts';
import type { Database } from '../../store/database.ts';
import { runtimeJournal } from '../runtime-log.ts';
import { parseLine } from './line.ts';
import { type Position, readNew } from './reader.ts';

export interface Ingestion {
  /** Reads what is there; for tests, and for the last moment. */
  now(): Promise<void>;
  stop(): Promise<void>;
}

export interface IngestionParts {
  readonly stateRoot: string;
  readonly host: string;
  readonly database: Database;
  readonly events: Events;
  readonly log: Logger;
}

/** For what no notification of the file system tells. */
const pollMs = 5000;
const gatherMs = 50;
/** The graph is the machine's, not a tenant's. */
const tenant = 'default';

export function startIngestion({ stateRoot, host, database, events, log }: IngestionParts): Ingestion {
  const journal = runtimeJournal(stateRoot);
  const fact = `runtime_log/${host}`;
  let reading: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let gathering: NodeJS.Timeout | undefined;
  let away = false;

  /** The events and how far they go are written together: a server that is killed in between has written neither. */
  const readPortion = (): Promise<boolean> =>
    database.transaction(async (tx) => {
      const row = await tx.selectFrom('box_facts').select('value').where('name', '=', fact).executeTakeFirst();
      const before = row ? (JSON.parse(row.value) as Position) : {};
      const { lines, position, more } = readNew(journal, before);
      const value = JSON.stringify(position);
      if (value === row?.value || (!row && lines.length === 0)) return false;
      await events.append(lines.flatMap((line) => parseLine(line) ?? []).map(asEvent), tx);
      await tx
        .insertInto('box_facts')
        .values({ name: fact, value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute();
      return more;
    });

  const readAll = async (): Promise<void> => {
    do {
      again = false;
      while (!stopped && (await readPortion()));
    } while (again && !stopped);
    away = false;
  };
  const read = (): Promise<void> => {
    again = true;
    reading ??= readAll()
      .catch((error: Error) => {
        // Said once for an outage; the next look tries again, from where the last one got to.
        if (!away) log.warn({ err: error }, 'the runtime log could not be read into the events');
        away = true;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  mkdirSync(journal.folder, { recursive: true, mode: 0o700 });
  const watcher: FSWatcher = watch(journal.folder, () => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      if (!stopped) void read();
    }, gatherMs);
    gathering.unref();
  });
  watcher.on('error', (error) => log.warn({ err: error }, `the runtime log is looked at every ${pollMs / 1000} s only`));
  const poll = setInterval(() => void read(), pollMs);
  poll.unref();
  watcher.unref();
  void read();

  return {
    now: read,
    async stop() {
      watcher.close();
      clearInterval(poll);
      clearTimeout(gathering);
      await read();
      stopped = true;
    },
  };
}

function asEvent({ time, type, subject, data }: Activity): NewEvent {
  const colon = subject.indexOf(':');
  const about = colon > 0 ? { type: subject.slice(0, colon), id: subject.slice(colon + 1) } : { type: 'graph', id: subject };
  return { time, tenant, actor: { kind: 'atm', id: 'graph' }, subject: about, type: `graph.${type}`, data };
}
