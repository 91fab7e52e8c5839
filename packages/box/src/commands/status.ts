import { z } from 'zod';
import { checkReadiness } from '../readiness.ts';
import { command, Reply } from './command.ts';

const health = z
  .object({
    status: z.enum(['ok', 'degraded']).describe('degraded: the box runs, and something an operator accepted or should mend is missing'),
    version: z.string(),
    host: z.string(),
    missing_layers: z.array(z.string()).describe('Layers of the sandbox this host lacks and the manifest accepts'),
  })
  .meta({ id: 'Health' });
const readiness = z
  .object({ status: z.enum(['ok', 'unavailable']), checks: z.record(z.string(), z.string()).describe('ok, or what is wrong') })
  .meta({ id: 'Readiness' });

export const statusCommands = [
  command({
    name: 'box.health',
    summary: 'Tell whether the box is alive, and what it lacks',
    scope: null,
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: health },
    http: { method: 'GET', path: '/health' },
    cli: { words: 'health', polished: true, examples: ['skillbox health', 'skillbox health --json'] },
    async run({ box }) {
      const missing = box.provider.report.layers.filter((layer) => !layer.present).map((layer) => layer.name);
      return { status: missing.length > 0 ? 'degraded' : 'ok', version: box.version, host: box.host, missing_layers: missing };
    },
  }),

  command({
    name: 'box.ready',
    summary: 'Tell whether the box can do its work: database, blobs, sandboxes, room on the disk',
    scope: null,
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: readiness },
    http: { method: 'GET', path: '/ready' },
    async run({ box }) {
      const checks = await checkReadiness(box);
      const ready = Object.values(checks).every((state) => state === 'ok');
      return new Reply({ status: ready ? 'ok' : 'unavailable', checks }, { status: ready ? 200 : 503 });
    },
  }),
];
