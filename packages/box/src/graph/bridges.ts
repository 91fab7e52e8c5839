/** Bridges: commands that make env files out of older tools. They run again only when what they made is older than what it was made of. */

import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BoxError, type BridgeStatus } from '@skillbox/protocol';
import { formatDuration } from '../units.ts';
import type { Bridge, Graph, Place } from './graph.ts';
import { existsAt } from './place.ts';
import { logPath } from './programs/log-path.ts';
import { runToEnd } from './programs/run-to-end.ts';
import { graphFolder, type Runtime } from './runtime.ts';
import { recordActivity } from './runtime-log.ts';
import { itemStatus } from './services/item-status.ts';
import { asStep } from './work-steps.ts';

const timeoutMs = 600_000;

export function bridgeState(bridge: Bridge): BridgeStatus['state'] {
  const made = bridge.outputs.map(changedAt);
  if (made.some((time) => time === undefined)) return 'missing';
  const oldest = Math.min(...(made as number[]));
  return bridge.inputs.some((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > oldest) ? 'stale' : 'fresh';
}

export function bridgeStates({ bridges }: Pick<Graph, 'bridges'>): BridgeStatus[] {
  return bridges.map((bridge) => ({
    ...itemStatus(bridge),
    state: bridgeState(bridge),
    outputs: bridge.outputs.map((place) => ({ path: place.path, host_path: place.hostPath, present: existsAt(place) })),
  }));
}

/** Ids of those that ran. Throws LOCAL_RUNTIME_ENV_BRIDGE_FAILED or LOCAL_RUNTIME_ENV_OUTPUT_MISSING. */
export async function refreshBridges(runtime: Runtime, graph: Graph): Promise<string[]> {
  const due = graph.bridges.filter((bridge) => bridgeState(bridge) !== 'fresh');
  for (const bridge of due)
    await asStep(
      runtime,
      { kind: 'bridge', name: `run ${bridge.id}` },
      `Running bridge ${bridge.id}`,
      () => run(runtime, graph, bridge),
      () => ({ state: 'done' }),
    );
  return due.map(({ id }) => id);
}

async function run(runtime: Runtime, graph: Graph, bridge: Bridge): Promise<void> {
  const { stateRoot } = runtime.config;
  const { id, client } = bridge;
  runtime.signal.throwIfAborted();
  const log = logPath(stateRoot, graph, 'bridges', bridge);
  const record = join(graphFolder(stateRoot), 'bridges', `${id}.json`);
  const { exit, late, tail } = await runToEnd(runtime, graph, bridge, {
    name: `bridge ${id}`,
    id,
    client,
    log,
    timeoutMs,
    record,
    definition: '',
  });
  const missing = bridge.outputs.filter((place) => !existsAt(place));
  const fault = exit !== 0 ? 'LOCAL_RUNTIME_ENV_BRIDGE_FAILED' : missing.length > 0 ? 'LOCAL_RUNTIME_ENV_OUTPUT_MISSING' : undefined;
  recordActivity(stateRoot, fault ? 'bridge.failed' : 'bridge.done', `bridge:${id}`, fault ? { error: fault } : {});
  if (fault === 'LOCAL_RUNTIME_ENV_BRIDGE_FAILED') {
    const how = late
      ? `took longer than ${formatDuration(timeoutMs)} and was ended`
      : exit === null
        ? 'was ended'
        : `ended with exit code ${exit}`;
    throw new BoxError(fault, `Bridge ${id} ${how}. Its last words:\n${tail.join('\n') || '(none)'}`, {
      details: { bridge: id, log, tail },
    });
  }
  if (fault)
    throw new BoxError(fault, `Bridge ${id} did not write ${missing.map(({ path }) => path).join(', ')}.`, {
      details: { bridge: id, missing: missing.map(({ hostPath }) => hostPath) },
    });
}

function changedAt(place: Place): number | undefined {
  return existsAt(place) ? lstatSync(place.hostPath, { throwIfNoEntry: false })?.mtimeMs : undefined;
}
