/** Commands of the registry as the shell sees them. */

import { commands } from '../commands/registry.ts';
import { downPolish, upPolish } from './box-up.ts';
import { buildPolish } from './build.ts';
import { doctorPolish } from './doctor.ts';
import { filesPolish } from './files.ts';
import { healthPolish } from './health.ts';
import type { Leaf } from './leaf.ts';
import { logsPolish } from './logs.ts';
import { pushPolish } from './push.ts';
import { leafOf, type Polish } from './registry-leaf.ts';
import { runPolish } from './run.ts';
import { execPolish, sandboxLogsPolish } from './sandbox-exec.ts';
import { catPolish, watchPolish } from './sandbox-streams.ts';
import { setSecretPolish } from './secret.ts';
import { serviceLogsPolish } from './service-logs.ts';
import { applyTemplatePolish } from './template.ts';

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

export const remoteLeaves: readonly Leaf[] = commands.flatMap((command) =>
  command.cli ? [leafOf(command, command.cli, polished[command.name])] : [],
);
