/** The control plane for sandboxes: the same domain functions as /v1, other words. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type CreateSandbox, createSandbox, type Sandbox, type SandboxState, snapshotId, templateName } from '@skillbox/protocol';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { callerOf } from './access.ts';
import { E2bError, json, noContent } from './answer.ts';
import { parseMetadataFilter } from './metadata-filter.ts';
import { networkBody, networkFields, toNetworkChoice } from './network.ts';
import { type Call, check, type Route, readBody } from './route.ts';
import { toConnection, toDetail, toListed } from './shapes.ts';

/** What the SDK documents for callers who name no time. */
const defaultTimeoutS = 300;
const living: readonly SandboxState[] = ['requested', 'provisioning', 'ready', 'paused'];
const running: readonly SandboxState[] = ['requested', 'provisioning', 'ready'];
const seconds = z.number().min(0).max(10_000_000);
const timeoutBody = z.object({ timeout: seconds.nullish() });

export const controlRoutes: readonly Route[] = [
  { method: 'POST', path: '/v2/sandboxes', run: create },
  { method: 'POST', path: '/sandboxes', run: create },
  { method: 'GET', path: '/v2/sandboxes', run: list },
  { method: 'GET', path: '/sandboxes', run: list },
  {
    method: 'GET',
    path: '/sandboxes/:id',
    run: async (call) => json(toDetail(call.box, await livingOne(call, await callerOf(call.box, call.request, 'sandboxes:read')))),
  },
  {
    method: 'DELETE',
    path: '/sandboxes/:id',
    async run(call) {
      const { caller, sandbox } = await owned(call);
      await call.box.sandboxes.destroy(caller, sandbox.id);
      return noContent();
    },
  },
  { method: 'POST', path: '/v2/sandboxes/:id/connect', run: connect },
  { method: 'POST', path: '/sandboxes/:id/connect', run: connect },
  {
    method: 'POST',
    path: '/sandboxes/:id/resume',
    async run(call) {
      const { sandbox } = await owned(call);
      if (sandbox.state !== 'paused') throw new E2bError(409, `The sandbox ${sandbox.id} is running.`);
      return connect(call);
    },
  },
  {
    method: 'POST',
    path: '/sandboxes/:id/timeout',
    async run(call) {
      const { caller, sandbox } = await owned(call);
      const { timeout } = await readBody(call, z.object({ timeout: seconds }));
      // None left is an end, not an error.
      if (timeout === 0) await call.box.sandboxes.destroy(caller, sandbox.id, 'its time was set to nothing');
      else await call.box.sandboxes.setTtl(caller, sandbox.id, timeout * 1000);
      return noContent();
    },
  },
  {
    method: 'POST',
    path: '/sandboxes/:id/pause',
    async run(call) {
      const { caller, sandbox } = await owned(call);
      if (sandbox.state === 'paused') throw new E2bError(409, `The sandbox ${sandbox.id} is paused already.`);
      await call.box.sandboxes.pause(caller, sandbox.id);
      return noContent();
    },
  },
  { method: 'GET', path: '/sandboxes/:id/metrics', run: metrics },
  {
    method: 'PUT',
    path: '/sandboxes/:id/network',
    async run(call) {
      const { caller, sandbox } = await owned(call);
      const body = await readBody(call, networkBody);
      await call.box.sandboxes.setNetwork(caller, sandbox.id, toNetworkChoice(body, body.allow_internet_access));
      return noContent();
    },
  },
];

const createBody = z.object({
  templateID: z.string().default('base'),
  timeout: seconds.nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  envVars: z.record(z.string(), z.string()).nullish(),
  autoPause: z.boolean().nullish(),
  network: networkFields.nullish(),
  allow_internet_access: z.boolean().nullish(),
  mcp: z.unknown().optional(),
  volumeMounts: z.array(z.unknown()).nullish(),
});

async function create(call: Call): Promise<Response> {
  const { box } = call;
  const caller = await callerOf(box, call.request, 'sandboxes:use');
  const body = await readBody(call, createBody);
  refuseWhatIsMissing(body);
  const network = toNetworkChoice(body.network, body.allow_internet_access);
  const request = check(createSandbox, {
    ...(await originOf(call, caller, body.templateID)),
    ttl: body.timeout || defaultTimeoutS,
    labels: body.metadata ?? {},
    env: body.envVars ?? {},
    on_expiry: body.autoPause ? 'pause' : 'destroy',
    ...(network && { network }),
  } satisfies z.input<typeof createSandbox>);
  return json(toConnection(box, await box.sandboxes.create(caller, request)), 201);
}

/** Silence would leave the caller believing in walls and folders that are not there. */
function refuseWhatIsMissing({ mcp, volumeMounts }: z.output<typeof createBody>): void {
  const asked = [...(mcp ? ['mcp'] : []), ...(volumeMounts?.length ? ['volumeMounts'] : [])];
  if (asked.length > 0) throw new E2bError(501, `This box does not take ${asked.join(', ')} from a create: the template decides.`);
}

/** A template's name, or the id or name of a snapshot. */
async function originOf({ box }: Call, caller: Caller, name: string): Promise<Pick<CreateSandbox, 'template' | 'snapshot'>> {
  const known = snapshotId.safeParse(name).success;
  if (!known && templateName.safeParse(name).success) return { template: name };
  let cursor: string | undefined;
  do {
    const page = await box.sandboxes.snapshots(caller.tenant, { limit: 200, ...(cursor && { cursor }) });
    const snapshot = page.items.find((item) => item.id === name || item.name === name);
    if (snapshot) return { template: snapshot.template, snapshot: snapshot.id };
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  throw new E2bError(404, `There is no template or snapshot ${name}.`);
}

async function list(call: Call): Promise<Response> {
  const { box, query } = call;
  const caller = await callerOf(box, call.request, 'sandboxes:read');
  const limit = check(z.coerce.number().int().min(1).max(1000).default(100), query.get('limit') ?? undefined);
  const wanted = query.getAll('state').flatMap((text) => text.split(','));
  const states =
    wanted.length === 0
      ? living
      : [...(wanted.includes('running') ? running : []), ...(wanted.includes('paused') ? ['paused' as const] : [])];
  const cursor = query.get('nextToken');
  const metadata = query.get('metadata');
  const template = query.get('template');
  const page = await box.sandboxes.list({
    ...{ tenant: caller.tenant, states, limit },
    ...(metadata && { labels: parseMetadataFilter(metadata) }),
    ...(template && { template }),
    ...(cursor && { cursor }),
  });
  return json(page.items.map(toListed), 200, page.next_cursor ? { 'X-Next-Token': page.next_cursor } : {});
}

/** Wakes what is paused. The time of what runs is only ever made longer. */
async function connect(call: Call): Promise<Response> {
  const { box } = call;
  const { caller, sandbox } = await owned(call);
  const { timeout } = await readBody(call, timeoutBody);
  const ttlMs = (timeout || defaultTimeoutS) * 1000;
  const wasPaused = sandbox.state === 'paused';
  if (wasPaused) await box.sandboxes.resume(caller, sandbox.id);
  const left = sandbox.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(sandbox.expires_at) - Date.now();
  const current = wasPaused || left < ttlMs ? await box.sandboxes.setTtl(caller, sandbox.id, ttlMs) : sandbox;
  return json(toConnection(box, current), wasPaused ? 201 : 200);
}

/** Between the two readings of the CPU clock. */
const sampleMs = 100;

async function metrics(call: Call): Promise<Response> {
  const { box } = call;
  const caller = await callerOf(box, call.request, 'sandboxes:read');
  const sandbox = await livingOne(call, caller);
  // Measuring would wake it.
  if (sandbox.state !== 'ready') return json([]);
  const { done, handle } = await box.sandboxes.use(caller.tenant, sandbox.id);
  try {
    const before = await handle.metrics();
    const since = performance.now();
    await sleep(sampleMs);
    const now = await handle.metrics();
    const cpuCount = Math.max(1, Math.ceil(sandbox.limits.cpu));
    const cpuUsedPct = ((now.cpuMs - before.cpuMs) / (performance.now() - since) / cpuCount) * 100;
    const time = Date.now();
    const sample = {
      timestamp: new Date(time).toISOString(),
      timestampUnix: Math.floor(time / 1000),
      ...{ cpuCount, cpuUsedPct: Math.max(0, Number(cpuUsedPct.toFixed(2))) },
      ...{ memUsed: now.memoryBytes, memTotal: now.memoryLimitBytes, memCache: 0 },
      ...{ diskUsed: now.diskBytes, diskTotal: now.diskLimitBytes },
    };
    return json([sample]);
  } finally {
    done();
  }
}

export async function owned(call: Call): Promise<{ caller: Caller; sandbox: Sandbox }> {
  const caller = await callerOf(call.box, call.request, 'sandboxes:use');
  return { caller, sandbox: await livingOne(call, caller) };
}

async function livingOne({ box, params }: Call, caller: Caller): Promise<Sandbox> {
  const sandbox = await box.sandboxes.get(caller.tenant, params.id ?? '');
  if (living.includes(sandbox.state)) return sandbox;
  throw new BoxError('not_found', `The sandbox ${sandbox.id} is ${sandbox.state}.`);
}
