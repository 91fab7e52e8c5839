/** Servers inside living sandboxes, and what the sandboxes use. The way through to a server is server/preview.ts. */

import { sandboxId, timestamp } from '@skillbox/protocol';
import { z } from 'zod';
import { metricsHistory, type Sample } from '../sandbox/metrics-history.ts';
import { previewLinkMs, previewToken } from '../sandbox/preview-link.ts';
import { command } from './command.ts';
import { withSandbox } from './sandbox-use.ts';

const usage = z
  .object({
    time: timestamp,
    cpu_ms: z.number().describe('CPU time since it was last started'),
    memory_bytes: z.number().int(),
    memory_limit_bytes: z.number().int(),
    disk_bytes: z.number().int(),
    disk_limit_bytes: z.number().int(),
    processes: z.number().int(),
  })
  .meta({ id: 'SandboxUsage' });

export const sandboxPortCommands = [
  command({
    name: 'sandbox.preview',
    summary: 'Make a link to a server in a sandbox',
    description: 'The link works without a key, for an hour. With a key the same address works without the token.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: z.object({ id: sandboxId, port: z.coerce.number().int().min(1).max(65_535).describe('Port that the server inside listens on') }),
    output: { kind: 'json', schema: z.object({ url: z.string(), expires_at: timestamp }).meta({ id: 'PreviewLink' }) },
    http: { method: 'POST', path: '/v1/sandboxes/:id/ports/:port/link' },
    cli: { words: 'sandbox preview', args: ['id', 'port'], examples: ['skillbox sandbox preview ID 8000'] },
    async run({ box, caller, origin }, { id, port }) {
      await box.sandboxes.get(caller.tenant, id);
      const expires = Date.now() + previewLinkMs;
      const token = previewToken(box.secrets, caller.tenant, id, port, expires);
      const { previewDomain } = box.config;
      const address = previewDomain ? hostAddress(origin, `${port}-${id}.${previewDomain}`) : `${origin}/preview/${id}/${port}`;
      return { url: `${address}/?token=${token}`, expires_at: new Date(expires).toISOString() };
    },
  }),

  command({
    name: 'sandbox.metrics',
    summary: 'Show what a sandbox uses',
    description: 'Now, and every 5 seconds of the last 10 minutes in which something ran.',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({ id: sandboxId }),
    output: { kind: 'json', schema: z.object({ now: usage, history: z.array(usage) }).meta({ id: 'SandboxMetrics' }) },
    http: { method: 'GET', path: '/v1/sandboxes/:id/metrics' },
    cli: { words: 'sandbox metrics', args: ['id'], examples: ['skillbox sandbox metrics ID'] },
    run: (context, { id }) =>
      withSandbox(context, id, async (handle) => ({
        now: usageBody({ time: Date.now(), ...(await handle.metrics()) }),
        history: metricsHistory(context.box.sandboxes).of(id).map(usageBody),
      })),
  }),
];

/** Scheme and port of the box itself, at another host. */
function hostAddress(origin: string, host: string): string {
  const { protocol, port } = new URL(origin || 'http://localhost');
  return `${protocol}//${host}${port ? `:${port}` : ''}`;
}

function usageBody(sample: Sample): z.input<typeof usage> {
  return {
    time: new Date(sample.time).toISOString(),
    cpu_ms: sample.cpuMs,
    memory_bytes: sample.memoryBytes,
    memory_limit_bytes: sample.memoryLimitBytes,
    disk_bytes: sample.diskBytes,
    disk_limit_bytes: sample.diskLimitBytes,
    processes: sample.processes,
  };
}
