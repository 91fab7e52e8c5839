/** skillbox up and down: the whole box, with where its server listens. */

import type { DownReport, UpReport } from '@skillbox/protocol';
import { z } from 'zod';
import { listening } from '../commands/local/listening.ts';
import { serverLogFile } from '../state.ts';
import { commandNamed } from './call.ts';
import { downText, isWhole, livingOnText, upText } from './graph-report-views.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { ownCall } from './own-call.ts';

const upCommand = commandNamed('up');
const downCommand = commandNamed('down');
const flags = z.object(listening);

export const upPolish = {
  description:
    'The server comes first, then bridges, repos and files, tasks and services; pulse, which keeps them alive, comes last. What runs already is left as it is.',
  input: z.object({ ...upCommand.input.shape, ...listening }),
  async run(context: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { bind, port } = flags.parse(given);
    const { bind: _bind, port: _port, ...input } = given;
    return ownCall(context, upCommand, input, {
      flags: { bind, port },
      view: (report, config) => upText(report as UpReport, context.io, { log: serverLogFile(config.stateRoot) }),
    });
  },
};

export const downPolish = {
  input: downCommand.input,
  async run(context: CliContext, input: Record<string, unknown>): Promise<Outcome> {
    const outcome = await ownCall(context, downCommand, input, {
      view: (report, config) => downText(report as DownReport, context.io, { stateRoot: config.stateRoot }),
    });
    const config = context.config();
    if (context.io.json || config.serverUrl !== undefined || !isWhole(outcome.value as DownReport)) return outcome;
    const { standingSandboxes } = await import('../sandbox/without-server.ts');
    const left = livingOnText(await standingSandboxes(config.stateRoot), context.io);
    return { ...outcome, text: [outcome.text, left].filter(Boolean).join('\n') };
  },
};
