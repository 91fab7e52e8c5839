import { BoxError, eventEnvelope, page, pageQuery, timestamp } from '@skillbox/protocol';
import { z } from 'zod';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import { command } from './command.ts';

function seqOf(cursor: string): number {
  const [text] = decodeCursor(cursor, 1);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BoxError('invalid_cursor', 'This cursor was not made by the box.');
}

export const eventCommands = [
  command({
    name: 'event.list',
    summary: 'Read what happened, newest first',
    description: 'Lifecycle of executions and skills, and with --type audit. every administrative act. Administrators see all tenants.',
    scope: 'admin',
    effect: 'read',
    input: z.object({
      type: z
        .string()
        .regex(/^[\w.]{1,100}$/, 'a type such as execution.finished')
        .optional()
        .describe('Only this type, or a beginning of it that ends with a dot, such as audit.'),
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
