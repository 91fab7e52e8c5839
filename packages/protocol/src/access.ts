import { z } from 'zod';
import { actorKind } from './events.ts';
import { keyId, tenantId, timestamp } from './ids.ts';

export const scopes = [
  'skills:read',
  'skills:write',
  'executions:read',
  'executions:run',
  'sandboxes:read',
  'sandboxes:use',
  'secrets:manage',
  'graph:read',
  'graph:use',
  'admin',
] as const;
export const scope = z.enum(scopes).describe('admin includes all the others and every tenant');
export type Scope = (typeof scopes)[number];

export const apiKey = z
  .object({
    id: keyId,
    name: z.string(),
    tenant: tenantId,
    actor: actorKind,
    scopes: z.array(scope),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
    last_used_at: timestamp.nullable().describe('Exact to a minute'),
    parent: keyId.nullable().describe('The key that this one was signed in with, and ends with; null for one that was made'),
  })
  .meta({ id: 'ApiKey' });

export const createdKey = apiKey.extend({ key: z.string().describe('The key itself; shown this once') }).meta({ id: 'CreatedApiKey' });

export const signInLink = z
  .object({
    code: z.string().describe('Good once; exchanged for a key at /v1/sign-in'),
    url: z.string().describe('The dashboard, with the code behind the #, where no server and no log sees it'),
    expires_at: timestamp,
  })
  .meta({ id: 'SignInLink' });

export const signInCodePattern = /^[A-Za-z0-9_-]{43}$/;

export const tenantLimits = z
  .object({
    requests_per_second: z.number().positive().max(100_000).describe('Requests allowed per second, with bursts of twice that'),
    slots: z.number().int().positive().max(10_000).describe('Executions that may run at once'),
    storage_bytes: z.number().int().nonnegative().describe('Bytes of skills, artifacts and logs the tenant may keep'),
  })
  .meta({ id: 'TenantLimits' });

export const tenant = z
  .object({
    name: tenantId,
    limits: tenantLimits,
    storage_used_bytes: z.number().int(),
    declared: z.boolean().describe('true when the manifest declares it; then it is read-only here'),
  })
  .meta({ id: 'Tenant' });

export type ApiKey = z.infer<typeof apiKey>;
export type CreatedKey = z.infer<typeof createdKey>;
export type SignInLink = z.infer<typeof signInLink>;
export type TenantLimits = z.infer<typeof tenantLimits>;
export type Tenant = z.infer<typeof tenant>;
