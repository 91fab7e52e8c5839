/** Commands of the registry as the shell sees them. */

import type { z } from 'zod';
import type { Command } from '../commands/command.ts';
import { commands } from '../commands/registry.ts';
import { downPolish, upPolish } from './box-up.ts';
import { buildPolish } from './build.ts';
import { doctorPolish } from './doctor.ts';
import { filesPolish } from './files.ts';
import { healthPolish } from './health.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';
import { logsPolish } from './logs.ts';
import { ownCall, plainCall } from './own-call.ts';
import { pushPolish } from './push.ts';
import { runPolish } from './run.ts';
import { execPolish, sandboxLogsPolish } from './sandbox-exec.ts';
import { catPolish, watchPolish } from './sandbox-streams.ts';
import { setSecretPolish } from './secret.ts';
import { serviceLogsPolish } from './service-logs.ts';
import { applyTemplatePolish } from './template.ts';

/** What the CLI does with a command beyond flags in and a table out. */
export interface Polish {
  /** Where the command's own speaks of HTTP. */
  readonly description?: string;
  readonly input: z.ZodObject;
  run(context: CliContext, input: Record<string, unknown>): Promise<Outcome>;
}

export const polished: Readonly<Record<string, Polish>> = {
  'execution.create': runPolish,
  'execution.files': filesPolish,
  'execution.logs': logsPolish,
  'skill.push': pushPolish,
  'skill.build': buildPolish,
  'template.apply': applyTemplatePolish,
  'secret.set': setSecretPolish,
  'box.health': healthPolish,
  'sandbox.exec': execPolish,
  'sandbox.output': sandboxLogsPolish,
  'sandbox.file.read': catPolish,
  'sandbox.file.watch': watchPolish,
  up: upPolish,
  down: downPolish,
  doctor: doctorPolish,
  logs: serviceLogsPolish,
};

/** Commands without words in the shell, and where their work is done there. */
export const withoutFace: Readonly<Record<string, string>> = {
  'execution.events': 'run --follow and exec logs --follow read it',
  'execution.archive': 'exec files --download writes the files themselves',
  'execution.file': 'run --download and exec files --download fetch with it',
  'skill.file': 'skill show lists the files; the dashboard compares versions with it',
  'host.doctor': 'doctor shows it, with what is declared',
  'event.follow': 'events lists what happened; the dashboard follows it',
  'signin.exchange': 'open prints the link; the dashboard exchanges its code',
  'signin.end': 'a shell does not sign in',
  'box.ready': 'health shows it',
  'sandbox.program': 'sandbox ps shows it',
  'sandbox.stdin': 'sandbox exec --stdin writes with it',
  'sandbox.stdin.close': 'sandbox exec --stdin ends with it',
  'sandbox.resize': 'sandbox shell resizes by itself',
  'sandbox.file.write': 'sandbox cp writes with it',
};

export const remoteLeaves: readonly Leaf[] = commands.flatMap((command) => (command.cli ? [leafOf(command, command.cli)] : []));

function leafOf(command: Command, cli: NonNullable<Command['cli']>): Leaf {
  const { name, summary } = command;
  const polish = polished[name];
  const description = polish?.description ?? command.description;
  return {
    ...{ name, summary, words: cli.words, args: cli.args ?? [], examples: cli.examples, remote: true },
    ...(description && { description }),
    input: polish?.input ?? command.input,
    run: polish?.run ?? ((context, input) => (command.own ? ownCall : plainCall)(context, command, input)),
  };
}
