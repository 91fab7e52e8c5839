import { randomUUID } from 'node:crypto';
import type { ActorKind, BoxEvent } from '@skillbox/protocol';
import type { EventRowRead } from './filter.ts';

/** What the one who appends knows; the rest is filled in. */
export type NewEvent = Omit<BoxEvent, 'seq' | 'id' | 'time' | 'host' | 'data'> & {
  readonly data?: BoxEvent['data'];
  /** Of what happened before it could be appended; default: now. */
  readonly time?: string;
};

export const eventColumns = [
  'id',
  'time',
  'tenant',
  'actor_kind',
  'actor_id',
  'host',
  'subject_type',
  'subject_id',
  'type',
  'data',
] as const;

export function asRow(event: NewEvent, host: string): Omit<EventRowRead, 'seq'> {
  return {
    id: `evt_${randomUUID()}`,
    time: event.time ?? new Date().toISOString(),
    tenant: event.tenant,
    actor_kind: event.actor.kind,
    actor_id: event.actor.id,
    host,
    subject_type: event.subject.type,
    subject_id: event.subject.id,
    type: event.type,
    data: JSON.stringify(event.data ?? {}),
  };
}

export function asEvent(row: EventRowRead): BoxEvent {
  return {
    seq: row.seq,
    id: row.id,
    time: row.time,
    tenant: row.tenant,
    actor: { kind: row.actor_kind as ActorKind, id: row.actor_id },
    host: row.host,
    subject: { type: row.subject_type, id: row.subject_id },
    type: row.type,
    data: JSON.parse(row.data) as BoxEvent['data'],
  };
}
