/** skillbox logs: the last lines of services and tasks, and, with --follow, what they write from then on. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type ServiceLog } from '@skillbox/protocol';
import { z } from 'zod';
import type { OwnWork } from '../commands/graph-command.ts';
import { sizeOfFile } from '../process/log-file.ts';
import { commandNamed } from './call.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { ownCall, withRuntime } from './own-call.ts';
import { printable } from './paint.ts';

const command = commandNamed('logs');
const follow = z.boolean().default(false).describe('Go on until Ctrl-C; with --json one line each');
const pollMs = 200;
const chunkBytes = 64 * 1024;

export const serviceLogsPolish = {
  input: z.object({ ...command.input.shape, follow }),
  async run(context: CliContext, { follow: goOn, ...input }: Record<string, unknown>): Promise<Outcome> {
    if (goOn !== true) return ownCall(context, command, input);
    const config = context.config();
    if (config.serverUrl !== undefined)
      throw new BoxError('usage', 'Logs of another box cannot be followed.', {
        hint: 'Leave --follow out, or run it on the machine of the box.',
      });
    await withRuntime(context, config, async (runtime) => {
      const { items } = (await (command.own as OwnWork).operate(runtime, command.input.parse(input))) as { items: ServiceLog[] };
      await followLogs(context, items, runtime.signal);
    });
    return {};
  },
};

interface Followed {
  readonly service: string;
  readonly path: string;
  readonly decoder: StringDecoder;
  at: number;
  rest: string;
}

/** A log that is emptied in place, as rotation does, is read from its beginning then. */
async function followLogs({ io }: CliContext, items: readonly ServiceLog[], signal: AbortSignal): Promise<void> {
  const width = Math.max(0, ...items.map(({ service }) => service.length));
  const show = (service: string, line: string): void => {
    if (io.json) io.print(JSON.stringify({ service, line }));
    else io.print(`${items.length > 1 ? `${io.paint('cyan', service.padEnd(width))}  ` : ''}${printable(line)}`);
  };
  const followed = items.map(
    ({ service, path }): Followed => ({ service, path, at: sizeOfFile(path), rest: '', decoder: new StringDecoder('utf8') }),
  );
  for (const { service, lines } of items) for (const line of lines) show(service, line);
  while (!signal.aborted) {
    for (const log of followed) for (const line of newLines(log)) show(log.service, line);
    // Aborting is how it ends, and not an error.
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

function newLines(log: Followed): string[] {
  const size = sizeOfFile(log.path);
  if (size < log.at) log.at = 0;
  if (size === log.at) return [];
  const fd = openSync(log.path, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(chunkBytes, fstatSync(fd).size - log.at));
    const read = readSync(fd, buffer, 0, buffer.length, log.at);
    log.at += read;
    const lines = (log.rest + log.decoder.write(buffer.subarray(0, read))).split('\n');
    log.rest = lines.pop() ?? '';
    return lines;
  } finally {
    closeSync(fd);
  }
}
