/** skillbox doctor: the machine, what is declared, and what is there of it. Reads only. */

import { BoxError, type GraphCheck, type GraphExamination, type HostCheck } from '@skillbox/protocol';
import { examine } from '../doctor.ts';
import type { Finding } from '../manifest/finding.ts';
import { stateChecks } from './doctor-states.ts';
import { readFocus } from './focus/record.ts';
import type { Selection } from './graph.ts';
import { examineGraph, type LoadedGraph } from './load.ts';
import type { Runtime } from './runtime.ts';
import { graphStatus } from './status.ts';

export async function doctor(runtime: Runtime, selection: Selection): Promise<GraphExamination> {
  const { config, progress } = runtime;
  progress('Looking at this machine');
  const machine = (await examine(() => config)).map(ofMachine);
  progress('Looking at the graph');
  const { graph, checks } = declaredChecks(runtime, selection);
  const found = graph
    ? [...overlayChecks(runtime, graph), ...stateChecks(runtime, graph, await graphStatus(runtime, graph)), ...focusChecks(runtime)]
    : [];
  return examination([...machine, ...checks, ...found]);
}

export function examination(checks: readonly GraphCheck[]): GraphExamination {
  return { healthy: checks.every(({ state }) => state !== 'fail'), checks: [...checks] };
}

export function ofMachine({ name, state, detail, fix }: HostCheck): GraphCheck {
  return { name, code: null, state: state === 'missing' ? 'fail' : state, detail, fix: fix ?? null };
}

/** The findings of the machine's part are about the manifest as such; these are about the graph. */
function declaredChecks({ config }: Runtime, selection: Selection): { graph?: LoadedGraph; checks: GraphCheck[] } {
  try {
    const { graph, findings } = examineGraph(config, selection);
    const own = findings.filter(({ code, file }) => code.startsWith('graph.') || file !== config.manifest);
    const checks = own.map((finding) => ofFinding('graph', finding));
    if (!graph) return { checks };
    const size = sections.reduce((sum, section) => sum + graph[section].length, 0);
    const good: GraphCheck = {
      name: 'graph',
      code: null,
      state: 'ok',
      detail: `${size} items for ${graph.profiles.join(', ')}${graph.client ? ` and client ${graph.client.id}` : ''}`,
      fix: null,
    };
    return { graph, checks: [...checks, good] };
  } catch (error) {
    // A client or a profile that is not there, or a folder that cannot be used.
    if (!(error instanceof BoxError)) throw error;
    return { checks: [{ name: 'graph', code: error.code, state: 'fail', detail: error.message, fix: error.hint }] };
  }
}

const sections = ['repos', 'artifacts', 'envFiles', 'skills', 'tasks', 'services', 'logs', 'checks', 'bridges'] as const;

function ofFinding(name: string, { severity, file, line, code, message, fix }: Finding): GraphCheck {
  return { name, code: 'graph_invalid', state: severity === 'error' ? 'fail' : 'warn', detail: `${file}:${line} ${code} ${message}`, fix };
}

/** The others' overlays: whoever selects one next would meet them. */
function overlayChecks({ config }: Runtime, { clients, client }: LoadedGraph): GraphCheck[] {
  return clients
    .filter((name) => name !== client?.id)
    .flatMap((name) => {
      const { findings } = examineGraph(config, { client: name, profiles: [] });
      const errors = findings.filter(({ severity }) => severity === 'error');
      return errors.map((finding): GraphCheck => ({ ...ofFinding(`client ${name}`, finding), state: 'warn' }));
    });
}

function focusChecks({ config }: Runtime): GraphCheck[] {
  const focus = readFocus(config.stateRoot);
  if (!focus) return [];
  const stale = (detail: string): GraphCheck[] => [
    { name: 'focus', code: null, state: 'warn', detail, fix: `skillbox focus ${focus.client}` },
  ];
  const { graph } = examineClient(config, focus.client, focus.profiles);
  if (!graph) return stale(`${focus.client} was focused and cannot be any more`);
  if (graph.configHash !== focus.config_hash) return stale(`what is declared has changed since ${focus.client} was focused`);
  return [{ name: 'focus', code: null, state: 'ok', detail: `${focus.client}, since ${focus.focused_at}`, fix: null }];
}

function examineClient(config: Runtime['config'], client: string, profiles: readonly string[]): { graph?: LoadedGraph } {
  try {
    return examineGraph(config, { client, profiles });
  } catch (error) {
    // Its overlay or its profile is gone.
    if (error instanceof BoxError) return {};
    throw error;
  }
}
