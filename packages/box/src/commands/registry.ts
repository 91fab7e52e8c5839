/** Every command of a running box, once. Routes, OpenAPI and the CLI are made from this list. */

import { accessCommands } from './access.ts';
import type { Command } from './command.ts';
import { creditCommands } from './credits.ts';
import { eventCommands } from './events.ts';
import { executionCommands } from './executions.ts';
import { graphCommands } from './graph.ts';
import { pulseCommands } from './pulse.ts';
import { sandboxFileCommands } from './sandbox-files.ts';
import { sandboxPortCommands } from './sandbox-ports.ts';
import { sandboxProgramCommands } from './sandbox-programs.ts';
import { sandboxCommands } from './sandboxes.ts';
import { secretCommands } from './secrets.ts';
import { sessionCommands } from './sessions.ts';
import { signInCommands } from './sign-in.ts';
import { skillCommands } from './skills.ts';
import { statusCommands } from './status.ts';
import { telemetryCommands } from './telemetry.ts';
import { templateCommands } from './templates.ts';
import { webhookCommands } from './webhooks.ts';

export const commands: readonly Command[] = [
  ...skillCommands,
  ...executionCommands,
  ...sandboxCommands,
  ...templateCommands,
  ...sandboxProgramCommands,
  ...sandboxFileCommands,
  ...sandboxPortCommands,
  ...creditCommands,
  ...secretCommands,
  ...telemetryCommands,
  ...signInCommands,
  ...accessCommands,
  ...eventCommands,
  ...webhookCommands,
  ...graphCommands,
  ...pulseCommands,
  ...sessionCommands,
  ...statusCommands,
];
