/** How what is ours is called and marked in an engine that may be shared with others, other boxes among them. */

import { BoxError } from '@skillbox/protocol';
import type { SandboxSpec } from '../../living.ts';

export type Labels = Readonly<Record<string, string>>;
/** copy: lives only while a disk is copied. run: one execution of a skill. */
type Kind = 'sandbox' | 'home' | 'snapshot' | 'copy' | 'run';

export interface Names {
  container(sandbox: string): string;
  home(sandbox: string): string;
  snapshot(name: string): string;
  run(execution: string): string;
  labels(spec: Pick<SandboxSpec, 'id' | 'tenant'>, kind: Kind): Labels;
  /** What everything of this box has in common. */
  ours(kind?: Kind): Labels;
}

export function createNames(owner: string): Names {
  const prefix = `skillbox.${part(owner)}`;
  const ours = (kind?: Kind): Labels => ({ 'managed-by': 'skillbox', 'skillbox.owner': owner, ...(kind && { 'skillbox.kind': kind }) });
  return {
    container: (sandbox) => `${prefix}.${part(sandbox)}`,
    home: (sandbox) => `${prefix}.home.${part(sandbox)}`,
    snapshot: (name) => `${prefix}.snapshot.${part(name)}`,
    run: (execution) => `${prefix}.run.${part(execution)}`,
    labels: ({ id, tenant }, kind) => ({ ...ours(kind), 'skillbox.tenant': tenant, 'skillbox.sandbox': id }),
    ours,
  };
}

export function labelFilter(labels: Labels): { filters: string } {
  return { filters: JSON.stringify({ label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) }) };
}

/** No dot, which stands between the parts, and nothing that has a meaning in a path. */
function part(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(text)) return text;
  throw new BoxError('bad_request', `${JSON.stringify(text)} cannot be part of a container's name.`, {
    hint: 'Use letters, digits, _ and -.',
  });
}
