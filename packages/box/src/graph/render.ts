/** The graph as people and programs read it: placeholders filled in, secrets left out. */

import type { BoxModel, RenderedGraph } from '@skillbox/protocol';
import { version } from '../version.ts';
import type { Graph, Place, Selection } from './graph.ts';
import { type LoadedGraph, loadGraph } from './load.ts';
import type { Runtime } from './runtime.ts';
import { withoutPassword } from './shown.ts';

export async function render({ config }: Runtime, selection: Selection, { why }: { why: boolean }): Promise<RenderedGraph> {
  const graph = loadGraph(config, selection);
  return {
    client: graph.client?.id ?? null,
    profiles: [...graph.profiles],
    graph: renderSections(graph),
    variables: { ...graph.variables },
    why: why ? [...graph.why].map(([path, { file, line }]) => ({ path, file, line })) : [],
  };
}

export async function describeBox({ config }: Runtime): Promise<BoxModel> {
  const { manifest, paths, name, clients, knownProfiles } = loadGraph(config, { profiles: [] });
  const { purpose, agent_user, provider, network, ports } = manifest.workspace;
  return {
    name,
    version,
    purpose: purpose ?? null,
    runtime: { mode: 'sandbox', agent_user, provider, network: network?.mode ?? 'none' },
    ports: { api: config.port, ...ports },
    paths: paths.mounts.flatMap(({ variable, path, hostPath }) =>
      variable === undefined ? [] : [{ variable, path, host_path: hostPath }],
    ),
    manifest: config.manifest ?? null,
    state_root: config.stateRoot,
    clients: [...clients],
    profiles: [...knownProfiles],
  };
}

const sections = [
  'repos',
  'artifacts',
  'envFiles',
  'skills',
  'tasks',
  'services',
  'logs',
  'checks',
  'bridges',
] as const satisfies readonly (keyof Graph)[];

function renderSections(graph: LoadedGraph): Record<string, unknown> {
  const shown = (value: unknown): unknown => {
    if (typeof value === 'string') return withoutPassword(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(shown);
    if (isPlace(value)) return { path: value.path, host_path: value.hostPath };
    const fields: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(value))
      if (inner !== undefined && key !== 'origin') fields[snake(key)] = special[key] ? special[key](inner) : shown(inner);
    return fields;
  };
  const special: Readonly<Record<string, (value: unknown) => unknown>> = {
    // Their names are the user's, not fields.
    env: (value) => withTexts(graph.shownEnv(value as Record<string, string>) ?? {}),
    context: (value) => value,
    // As it stands in the manifest.
    mode: (value) => (typeof value === 'number' ? value.toString(8).padStart(4, '0') : value),
  };
  const { client } = graph;
  return {
    ...(client && { client: shown(client) }),
    ...Object.fromEntries(sections.map((section) => [snake(section), graph[section].map(shown)])),
    parity_ledger: graph.parityLedger,
    connectors: graph.connectors,
  };
}

const withTexts = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, withoutPassword(text)]));

const snakes = new Map<string, string>();

/** Thousands of items have the same few fields. */
function snake(name: string): string {
  const known = snakes.get(name);
  if (known !== undefined) return known;
  const made = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakes.set(name, made);
  return made;
}

const isPlace = (value: object): value is Place => 'hostPath' in value && 'inside' in value;
