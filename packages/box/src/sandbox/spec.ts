/** From a row to the sandbox it stands for. */

import { BoxError, type Template } from '@skillbox/protocol';
import type { Secrets } from '../secrets.ts';
import type { SandboxRow } from '../store/tables.ts';
import { channelFolder, proxyEnv } from './egress/environment.ts';
import { trustEnv } from './egress/trust.ts';
import type { LivingLimits, LivingProvider, ProviderRef, SandboxHandle, SandboxSpec } from './living.ts';
import { networkOf, providerNetwork } from './network.ts';
import { templateOf } from './records.ts';
import type { Providers } from './routing.ts';
import { isWorkspace } from './workspace/template.ts';

/** What the caller gave; sealed in the row, since it may hold secrets. */
export interface SealedRequest {
  readonly env: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly ttlMs: number;
}

const openFiles = 16_384;

export const sealRequest = (secrets: Secrets, request: SealedRequest): string => secrets.encrypt(JSON.stringify(request));

export const unsealRequest = (secrets: Secrets, row: Pick<SandboxRow, 'request'>): SealedRequest =>
  JSON.parse(secrets.decrypt(row.request)) as SealedRequest;

export function specOf(secrets: Secrets, row: SandboxRow, snapshot?: string): SandboxSpec {
  const template = templateOf(row);
  const { network, options, image, placement } = template;
  const { channel } = networkOf(row);
  const trustsBox = channel && network.tls === true;
  const { env, inputs } = unsealRequest(secrets, row);
  return {
    id: row.id,
    tenant: row.tenant,
    limits: limitsOf(template),
    network: providerNetwork(row),
    env: { ...(channel && proxyEnv), ...(trustsBox && trustEnv(channelFolder)), ...env },
    ...(trustsBox && { trustsBox }),
    ...(isWorkspace(template) && { workspace: true }),
    ...(snapshot !== undefined && { snapshot }),
    options: { ...options, ...(image !== null && { image }), ...(placement.length > 0 && { placement }), inputs },
  };
}

/** For one that is nobody's yet: what all sandboxes of the template have in common. */
export function sharedSpec(id: string, template: Template): SandboxSpec {
  return { id, tenant: '', limits: limitsOf(template), network: 'none', env: {}, options: {} };
}

const limitsOf = ({ resources }: Template): LivingLimits => ({
  memoryBytes: resources.memory_bytes,
  cpu: resources.cpu,
  processes: resources.processes,
  openFiles,
  diskBytes: resources.disk_bytes,
  tmpBytes: resources.tmp_bytes,
});

export function providerOf(providers: Providers, row: SandboxRow): LivingProvider {
  const provider = row.provider === null ? undefined : providers.get(row.provider);
  if (provider) return provider;
  throw new BoxError('no_provider', `The provider ${row.provider} of sandbox ${row.id} is not on this host.`);
}

export function handleOf(providers: Providers, secrets: Secrets, row: SandboxRow): SandboxHandle {
  if (row.ref === null) throw new BoxError('invalid_state', `The sandbox ${row.id} is ${row.state}: there is nothing to use yet.`);
  return providerOf(providers, row).open(JSON.parse(row.ref) as ProviderRef, specOf(secrets, row));
}
