/** The declared checks: what must hold, asked now. Reads only. */

import type { CheckStatus } from '@skillbox/protocol';
import type { Check, Graph } from './graph.ts';
import { existsAt } from './place.ts';
import { hostEnvironment } from './programs/environment.ts';
import { httpAnswer, isWell } from './programs/http-answer.ts';
import { portAnswers } from './programs/ports.ts';
import { runShort } from './programs/short-command.ts';
import type { Runtime } from './runtime.ts';
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

async function ask({ config }: Runtime, graph: Graph, probe: Check['probe'], limitMs: number): Promise<Answer> {
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
  // The host runs nothing from a folder that the workspace writes, and to look must not start a sandbox.
  if (probe.cwd.inside) return { holds: false, detail: `a command is not asked in ${probe.cwd.path}, which the workspace writes` };
  const { exit, output } = await runShort(probe.command, probe.cwd.hostPath, hostEnvironment(config, graph, {}), limitMs);
  const said = output === '' ? '' : `: ${output}`;
  return { holds: exit === 0, detail: exit === null ? `it took longer than ${limitMs} ms` : `it ended with ${exit}${said}` };
}
