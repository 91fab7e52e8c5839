/** How long a sandbox may live. */

import { BoxError, type Template } from '@skillbox/protocol';
import type { SandboxRow } from '../store/tables.ts';
import { formatDuration, parseDuration } from '../units.ts';
import { templateOf } from './records.ts';
import { isWorkspace } from './workspace/template.ts';

/** Of a create; throws bad_request above the template's maximum. */
export function ttlOf(asked: string | number | undefined, template: Template): number {
  if (asked === undefined) return template.ttl.default_ms;
  const ms = parseDuration(asked);
  if (ms === undefined || ms <= 0) throw new BoxError('bad_request', '/ttl: expected a time such as 90s.');
  checkTtl(ms, Date.now() + template.ttl.max_ms, template);
  return ms;
}

/** When it ends by itself; the workspace does not. */
export const expiryOf = (template: Template, ttlMs: number, from: number): string | null =>
  isWorkspace(template) ? null : new Date(from + ttlMs).toISOString();

export function checkTtl(ttlMs: number, latest: number, { name, ttl }: Template): void {
  if (ttlMs > 0 && Date.now() + ttlMs <= latest) return;
  throw new BoxError('bad_request', `/ttl: a sandbox of template ${name} lives at most ${formatDuration(ttl.max_ms)}.`, {
    details: { latest: new Date(latest).toISOString() },
  });
}

/** Counts from when it became ready; one whose time ran out while it was paused starts anew. */
export function latestExpiry(row: SandboxRow): number {
  const from = row.expires_at === null ? Date.now() : Date.parse(row.ready_at ?? row.created_at);
  return from + templateOf(row).ttl.max_ms;
}
