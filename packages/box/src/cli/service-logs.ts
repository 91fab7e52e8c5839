/** skillbox logs: the last lines of services and tasks, and, with --follow, what they write from then on. */

import type { ServiceLogLine } from '@skillbox/protocol';
import { z } from 'zod';
import type { StreamEvent } from '../commands/command.ts';
import { listed } from '../commands/graph-command.ts';
import { commandNamed } from './call.ts';
import { followEvents } from './follow.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { ownCall, withRuntime } from './own-call.ts';
import { printable } from './paint.ts';

const command = commandNamed('logs');
const follow = z.boolean().default(false).describe('Go on until Ctrl-C; with --json one line each');

interface LogsInput {
  readonly client?: string;
  readonly profile?: string;
  readonly service?: string;
  readonly lines: number;
}

export const serviceLogsPolish = {
  input: z.object({ ...command.input.shape, follow }),
  async run(context: CliContext, { follow: goOn, ...input }: Record<string, unknown>): Promise<Outcome> {
    if (goOn !== true) return ownCall(context, command, input);
    const config = context.config();
    if (config.serverUrl !== undefined) {
      await show(
        context,
        followEvents(await context.client(), command, input, { endless: true }),
        listed(input.service as string).length !== 1,
      );
      return {};
    }
    await withRuntime(context, config, async (runtime) => {
      const { followLogs, logPlaces } = await import('../graph/follow-logs.ts');
      const { logFiles } = await import('../graph/logs.ts');
      const { client, profile, service, lines } = command.input.parse(input) as unknown as LogsInput;
      const files = logFiles(runtime, { client, profiles: listed(profile) }, listed(service));
      await show(context, followLogs(logPlaces(files, lines), runtime.signal), files.length > 1);
    });
    return {};
  },
};

/** Names are shown where there is more than one log. */
async function show({ io }: CliContext, events: AsyncIterable<StreamEvent>, several: boolean): Promise<void> {
  let width = 0;
  for await (const { data } of events) {
    const { service, line } = data as ServiceLogLine;
    width = Math.max(width, service.length);
    if (io.json) io.print(JSON.stringify({ service, line }));
    else io.print(`${several ? `${io.paint('cyan', service.padEnd(width))}  ` : ''}${printable(line)}`);
  }
}
