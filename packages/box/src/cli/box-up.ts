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
    return ownCall(context, downCommand, input, {
      async view(result, { stateRoot }) {
        const report = result as DownReport;
        const text = downText(report, context.io, { stateRoot });
        if (!isWhole(report)) return text;
        const { standingSandboxes } = await import('../sandbox/without-server.ts');
        return [text, ...livingOnText(await standingSandboxes(stateRoot), context.io)].join('\n');
      },
    });
  },
};
