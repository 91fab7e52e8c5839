/** What the page consists of, and who may see each part. */

import type { Scope } from '../../box/box.ts';

export interface AdminPart {
  readonly id: string;
  readonly title: string;
  readonly scope: Scope;
}

export const parts = [
  { id: 'keys', title: 'Keys', scope: 'admin' },
  { id: 'tenants', title: 'Tenants', scope: 'admin' },
  { id: 'credits', title: 'Credits', scope: 'sandboxes:read' },
  { id: 'templates', title: 'Templates', scope: 'sandboxes:read' },
  { id: 'secrets', title: 'Secrets', scope: 'secrets:manage' },
  { id: 'webhooks', title: 'Webhooks', scope: 'admin' },
  { id: 'providers', title: 'Providers', scope: 'admin' },
  { id: 'egress', title: 'Egress', scope: 'admin' },
  { id: 'audit', title: 'Audit log', scope: 'admin' },
  { id: 'doctor', title: 'Doctor', scope: 'admin' },
] as const satisfies readonly AdminPart[];

export type PartId = (typeof parts)[number]['id'];
