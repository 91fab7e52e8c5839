/** skillbox health: whether the box is alive and can do its work. */

import { exitCodes } from '@skillbox/protocol';
import { z } from 'zod';
import { commandNamed } from './call.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { oneLine } from './paint.ts';
import { formatFacts } from './table.ts';

interface Health {
  readonly status: string;
  readonly version: string;
  readonly host: string;
  readonly missing_layers: readonly string[];
}

interface Readiness {
  readonly status: string;
  readonly checks: Record<string, string>;
}

export const healthPolish = {
  input: z.object({}),
  async run({ client, io }: CliContext): Promise<Outcome> {
    const box = await client();
    const health = (await box.call(commandNamed('box.health'), {})).body as Health;
    const readiness = (await box.call(commandNamed('box.ready'), {}, { accept: [503] })).body as Readiness;
    const ready = readiness.status === 'ok';
    const status = ready ? health.status : readiness.status;
    const { paint } = io;
    const state = (text: string): string => paint(text === 'ok' ? 'green' : text === 'degraded' ? 'yellow' : 'red', oneLine(text));
    const lines = [
      `Skillbox ${oneLine(health.version)} at ${box.url}: ${state(status)}`,
      formatFacts(
        [['host', oneLine(health.host)], ...Object.entries(readiness.checks).map(([name, text]) => [name, state(text)] as const)],
        paint,
      ),
    ];
    if (health.missing_layers.length > 0)
      lines.push(`Layers of the sandbox this host lacks: ${health.missing_layers.map(oneLine).join(', ')}. See skillbox doctor.`);
    return {
      value: { url: box.url, ...health, status, checks: readiness.checks },
      text: lines.join('\n'),
      exit: ready ? exitCodes.ok : exitCodes.failed,
    };
  },
};
