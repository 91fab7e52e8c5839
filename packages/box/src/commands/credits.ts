import { creditAmount, creditBalance, creditEntry, page, pageQuery, tenantId } from '@skillbox/protocol';
import { z } from 'zod';
import { command } from './command.ts';

export const creditCommands = [
  command({
    name: 'credits.show',
    summary: 'Show the credits of the tenant',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: creditBalance },
    http: { method: 'GET', path: '/v1/credits' },
    cli: { words: 'credits show', examples: ['skillbox credits show', 'skillbox credits show --tenant acme'] },
    run: ({ box, caller }) => box.credits.balance(caller.tenant),
  }),

  command({
    name: 'credits.grant',
    summary: 'Give credits to a tenant',
    description: 'With an Idempotency-Key the same grant is given once, however often it is sent.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({
      tenant: tenantId,
      amount: creditAmount,
      note: z
        .string()
        .max(500)
        .regex(/^[^\p{Cc}]*$/u, 'no control characters')
        .optional()
        .describe('What it is for'),
    }),
    output: { kind: 'json', schema: creditEntry, status: 201 },
    http: { method: 'POST', path: '/v1/credits/grants' },
    cli: { words: 'credits grant', args: ['tenant', 'amount'], examples: ['skillbox credits grant acme 100 --note "May"'] },
    run: ({ box, caller, idempotencyKey }, { tenant, amount, note }) =>
      box.credits.grant({
        ...{ tenant, amount, note: note ?? null, actor: `${caller.actor.kind}:${caller.actor.id}` },
        ...(idempotencyKey !== undefined && { key: idempotencyKey }),
      }),
  }),

  command({
    name: 'credits.history',
    summary: 'List what was granted, held, settled and released, newest first',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({ ...pageQuery }),
    output: { kind: 'json', schema: page(creditEntry) },
    http: { method: 'GET', path: '/v1/credits/history' },
    cli: { words: 'credits history', examples: ['skillbox credits history', 'skillbox credits history --limit 10 --json'] },
    run: ({ box, caller }, filter) => box.credits.history(caller.tenant, filter),
  }),
];
