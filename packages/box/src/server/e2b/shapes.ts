/** Our sandboxes and snapshots in the words of the E2B control plane. */

import type { Sandbox, Snapshot } from '@skillbox/protocol';
import type { Box } from '../../box.ts';
import { tokenOf } from './access.ts';
import { toNetworkInfo } from './network.ts';

/** What the SDK may ask of the data plane follows from it. */
const envdVersion = '0.6.4';
const mebi = 2 ** 20;

/** What create and connect answer: where the sandbox is, and the token to use it. */
export function toConnection(box: Box, sandbox: Sandbox): unknown {
  return {
    ...common(sandbox),
    envdAccessToken: tokenOf(box.secrets, sandbox.tenant, sandbox.id),
    domain: box.config.previewDomain ?? null,
  };
}

export function toListed(sandbox: Sandbox): object {
  return {
    ...common(sandbox),
    startedAt: sandbox.ready_at ?? sandbox.created_at,
    endAt: sandbox.expires_at ?? farAway,
    state: sandbox.state === 'paused' ? 'paused' : 'running',
    cpuCount: Math.max(1, Math.ceil(sandbox.limits.cpu)),
    memoryMB: Math.round(sandbox.limits.memory_bytes / mebi),
    diskSizeMB: Math.round(sandbox.limits.disk_bytes / mebi),
    metadata: sandbox.labels,
    volumeMounts: [],
  };
}

export function toDetail(box: Box, sandbox: Sandbox): unknown {
  return {
    ...toListed(sandbox),
    envdAccessToken: tokenOf(box.secrets, sandbox.tenant, sandbox.id),
    domain: box.config.previewDomain ?? null,
    allowInternetAccess: sandbox.network !== 'none',
    network: toNetworkInfo(sandbox),
    lifecycle: { onTimeout: sandbox.on_expiry === 'pause' ? 'pause' : 'kill', autoResume: false },
  };
}

export const toSnapshot = ({ id, name }: Snapshot): unknown => ({ snapshotID: id, names: name === null ? [] : [name] });

/** The protocol has no word for a sandbox without an end. */
const farAway = '9999-12-31T23:59:59.000Z';

function common({ id, template }: Sandbox): object {
  const [name] = template.split('@');
  return { sandboxID: id, templateID: template, alias: name, clientID: 'skillbox', envdVersion };
}
