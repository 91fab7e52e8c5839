/** The declared checks: what must hold, asked now. Reads only. */

import { BoxError, type CheckStatus } from '@skillbox/protocol';
import { workspaceName } from '../sandbox/workspace/template.ts';
import type { Check, Graph } from './graph.ts';
import { existsAt } from './place.ts';
import { hostEnvironment } from './programs/environment.ts';
import { httpAnswer, isWell } from './programs/http-answer.ts';
import { portAnswers } from './programs/ports.ts';
import { runShort, type ShortRun } from './programs/short-command.ts';
import type { Runtime } from './runtime.ts';
import { runBeside, standingSandbox } from './sandboxed.ts';
import { isAway } from './sandboxed-inside.ts';
import { itemStatus } from './services/item-status.ts';

interface Answer {
  readonly holds: boolean;
  readonly detail: string;
}

const timeoutMs = 5000;

/** `withinMs`: the most that one may take. */
export function checkStatuses(runtime: Runtime, graph: Graph, withinMs = timeoutMs): Promise<CheckStatus[]> {
  return Promise.all(
    graph.checks.map(async (check) => {
      const { holds, detail } = await ask(runtime, graph, check.probe, Math.min(withinMs, timeoutMs));
      return { ...itemStatus(check), state: holds ? ('ok' as const) : ('fail' as const), detail };
    }),
  );
}

async function ask(runtime: Runtime, graph: Graph, probe: Check['probe'], limitMs: number): Promise<Answer> {
  if (probe.type === 'path_exists') {
    const holds = existsAt(probe.place);
    return { holds, detail: `${probe.place.path} is ${holds ? 'there' : 'missing'}` };
  }
  if (probe.type === 'port') {
    const holds = await portAnswers(probe.port, '127.0.0.1', limitMs);
    return { holds, detail: `${holds ? 'somebody' : 'nobody'} listens on port ${probe.port}` };
  }
  if (probe.type === 'http') {
    const answer = await httpAnswer(probe.url, limitMs);
    const holds = typeof answer === 'number' && isWell(answer, undefined);
    return { holds, detail: `${probe.url}${typeof answer === 'number' ? ` answers ${answer}` : `: ${answer}`}` };
  }
  const ran = probe.cwd.inside ? await runInside(runtime, probe, limitMs) : await runOnHost(runtime, graph, probe, limitMs);
  if (ran === undefined) return { holds: false, detail: `it is asked in the workspace, which does not run: ${startsWorkspace} starts it` };
  const { exit, output } = ran;
  const said = output === '' ? '' : `: ${output}`;
  return { holds: exit === 0, detail: exit === null ? `it took longer than ${limitMs} ms` : `it ended with ${exit}${said}` };
}

type Command = Extract<Check['probe'], { type: 'command' }>;

const startsWorkspace = 'skillbox shell -- true';

const runOnHost = ({ config }: Runtime, graph: Graph, { command, cwd }: Command, limitMs: number): Promise<ShortRun> =>
  runShort(command, cwd.hostPath, hostEnvironment(config, graph, {}), limitMs);

/** The host runs nothing from a folder that the workspace writes. To look must not start a sandbox: undefined when none runs. */
async function runInside(runtime: Runtime, { command, cwd }: Command, timeoutMs: number): Promise<ShortRun | undefined> {
  try {
    const sandbox = await standingSandbox(runtime, workspaceName, undefined);
    if (sandbox === undefined) return undefined;
    const { exit, output } = await runBeside(runtime, { sandbox }, command, { timeoutMs, cwd: cwd.path });
    return { exit, output: output.trim().split('\n').at(-1)?.trim() ?? '' };
  } catch (error) {
    if (isAway(error)) return undefined;
    // Such as a folder that is not there: that is what the check finds.
    if (error instanceof BoxError) return { exit: 1, output: error.message };
    throw error;
  }
}
