import { actorKind, apiKey, BoxError, createdKey, keyId, page, pageQuery, scope, tenant, tenantId, tenantLimits } from '@skillbox/protocol';
import { z } from 'zod';
import { parseDuration } from '../units.ts';
import { command } from './command.ts';

/** The last one with a year of four digits, as ISO 8601 and the schema of answers have it. */
const latestTime = Date.parse('9999-12-31T23:59:59.999Z');

export const accessCommands = [
  command({
    name: 'key.create',
    summary: 'Make an API key',
    description: 'The key itself is in this answer and nowhere else: only its hash is kept.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({
      name: z
        .string()
        .min(1)
        .max(100)
        .regex(/^[^\p{Cc}]*$/u, 'no control characters')
        .describe('What the key is for'),
      tenant: tenantId.default('default'),
      actor: actorKind.default('agt'),
      scopes: z
        .array(scope)
        .min(1)
        .max(10)
        .default(['skills:read', 'executions:read', 'executions:run', 'sandboxes:read', 'sandboxes:use'])
        .describe('What it may do'),
      expires_in: z
        .string()
        .regex(/^\d{1,9}(\.\d{1,3})?(ms|s|m|h)$/, 'a time such as 24h')
        .optional()
        .describe('Time until it stops working, such as 24h; without it the key does not expire'),
    }),
    output: { kind: 'json', schema: createdKey, status: 201 },
    http: { method: 'POST', path: '/v1/keys' },
    cli: {
      words: 'key create',
      args: ['name'],
      examples: ['skillbox key create ci', 'skillbox key create bot --tenant acme --scopes executions:run,skills:read --expires-in 24h'],
    },
    async run({ box }, { expires_in, ...key }) {
      const lifetime = expires_in === undefined ? undefined : parseDuration(expires_in);
      if (lifetime !== undefined && Date.now() + lifetime > latestTime) throw new BoxError('bad_request', 'expires_in is too far away.');
      return box.keys.create({ ...key, expiresAt: lifetime === undefined ? undefined : new Date(Date.now() + lifetime).toISOString() });
    },
  }),

  command({
    name: 'key.list',
    summary: 'List API keys, newest first',
    scope: 'admin',
    effect: 'read',
    input: z.object({ tenant: tenantId.optional().describe('Only of this tenant'), ...pageQuery }),
    output: { kind: 'json', schema: page(apiKey) },
    http: { method: 'GET', path: '/v1/keys' },
    cli: { words: 'key list', examples: ['skillbox key list', 'skillbox key list --tenant acme'] },
    run: ({ box }, filter) => box.keys.list(filter),
  }),

  command({
    name: 'key.revoke',
    summary: 'Make an API key stop working',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.object({ id: keyId }),
    output: { kind: 'json', schema: apiKey },
    http: { method: 'DELETE', path: '/v1/keys/:id' },
    cli: { words: 'key revoke', args: ['id'], examples: ['skillbox key revoke key_0123456789abcdef'] },
    run: ({ box }, { id }) => box.keys.revoke(id),
  }),

  command({
    name: 'tenant.list',
    summary: 'List tenants with their limits and use',
    scope: 'admin',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: page(tenant) },
    http: { method: 'GET', path: '/v1/tenants' },
    cli: { words: 'tenant list', examples: ['skillbox tenant list'] },
    run: async ({ box }) => ({ items: await box.tenants.list(), next_cursor: null }),
  }),

  command({
    name: 'tenant.set',
    summary: 'Set the limits of a tenant',
    description: 'What is left out stays as it is. Tenants that the manifest declares are changed there.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({ name: tenantId, ...tenantLimits.partial().shape }),
    output: { kind: 'json', schema: tenant },
    http: { method: 'PUT', path: '/v1/tenants/:name' },
    cli: { words: 'tenant set', args: ['name'], examples: ['skillbox tenant set acme --slots 4 --requests-per-second 50'] },
    run: ({ box }, { name, ...limits }) => box.tenants.setLimits(name, limits),
  }),
];
