import { BoxError, type BoxEvent, eventEnvelope, page, pageQuery, type Scope, timestamp } from '@skillbox/protocol';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import { type CommandContext, command, type StreamEvent } from './command.ts';

function seqOf(cursor: string): number {
  const [text] = decodeCursor(cursor, 1);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BoxError('invalid_cursor', 'This cursor was not made by the box.');
}

/** Who may look at the thing may hear what happens to it; everything else, the audit log among it, is for administrators. */
const heardWith: Readonly<Record<string, Scope>> = { execution: 'executions:read', skill: 'skills:read', sandbox: 'sandboxes:read' };

const hears = ({ scopes }: Caller, { type }: BoxEvent): boolean => {
  if (scopes.includes('admin')) return true;
  const needed = heardWith[type.split('.')[0] ?? ''];
  return needed !== undefined && scopes.includes(needed);
};

async function* followEvents({ box, caller, lastEventId, signal }: CommandContext, filter: Follow): AsyncGenerator<StreamEvent> {
  const { recent, type } = filter;
  const wanted = {
    ...(!caller.scopes.includes('admin') && { tenant: caller.tenant }),
    ...(type?.endsWith('.') ? { typePrefix: type } : { type }),
  };
  const resumed = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : undefined;
  const after = resumed ?? (await box.events.lastSeq());
  if (resumed === undefined && recent > 0) {
    const past = await box.events.list({ ...wanted, beforeSeq: after + 1, order: 'desc', limit: recent });
    for (const event of past.reverse()) if (hears(caller, event)) yield asStreamed(event);
  }
  for await (const event of box.events.follow(wanted, { afterSeq: after }, signal)) if (hears(caller, event)) yield asStreamed(event);
}

const asStreamed = (event: BoxEvent): StreamEvent => ({ id: String(event.seq), event: event.type, data: event });

const eventType = z
  .string()
  .regex(/^[\w.]{1,100}$/, 'a type such as execution.finished')
  .optional()
  .describe('Only this type, or a beginning of it that ends with a dot, such as audit.');

const follow = z.object({
  type: eventType,
  recent: z.coerce.number().int().min(0).max(200).default(0).describe('Begin with so many that were before'),
});
type Follow = z.output<typeof follow>;

export const eventCommands = [
  command({
    name: 'event.follow',
    summary: 'Follow what happens, as it happens',
    description:
      'Server-sent events, from now or after Last-Event-ID. A key hears of its tenant what it may read: executions, skills, sandboxes; administrators hear everything of all tenants.',
    scope: 'any',
    effect: 'read',
    input: follow,
    output: { kind: 'events', schema: eventEnvelope },
    http: { method: 'GET', path: '/v1/events/stream' },
    run: async (context, filter) => followEvents(context, filter),
  }),

  command({
    name: 'event.list',
    summary: 'Read what happened, newest first',
    description: 'Lifecycle of executions and skills, and with --type audit. every administrative act. Administrators see all tenants.',
    scope: 'admin',
    effect: 'read',
    input: z.object({
      type: eventType,
      subject: z
        .string()
        .regex(/^[a-z_]{1,40}:[^\p{Cc}]{1,200}$/u, 'type:id')
        .optional()
        .describe('Only about this, such as execution:ID'),
      since: timestamp.optional().describe('Only at or after this time'),
      ...pageQuery,
    }),
    output: { kind: 'json', schema: page(eventEnvelope) },
    http: { method: 'GET', path: '/v1/events' },
    cli: { words: 'events', examples: ['skillbox events --type audit.', 'skillbox events --subject execution:ID --json'] },
    async run({ box }, { type, subject, since, limit, cursor }) {
      const [subjectType = '', ...id] = subject?.split(':') ?? [];
      const rows = await box.events.list({
        ...(type?.endsWith('.') ? { typePrefix: type } : { type }),
        ...(subject && { subject: { type: subjectType, id: id.join(':') } }),
        ...(since && { since: new Date(since).toISOString() }),
        ...(cursor && { beforeSeq: seqOf(cursor) }),
        order: 'desc',
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items, next_cursor: rows.length > limit && last ? encodeCursor(String(last.seq)) : null };
    },
  }),
];
