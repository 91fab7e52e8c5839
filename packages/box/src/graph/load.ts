/** From skillbox.yaml and the overlays to the graph that is selected. Reads only. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BoxError, type LedgerEntry } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import { type Finding, formatFinding } from '../manifest/finding.ts';
import { checkManifest, readManifestText } from '../manifest/load.ts';
import { type Manifest, manifestSchema } from '../manifest/schema.ts';
import { builtInTemplates } from '../sandbox/built-in-templates.ts';
import { createApiService } from './api-service.ts';
import { type Entries, type Entry, findingOf, originOf, type Report, type Source, sectionNames } from './declared.ts';
import type { Client, Graph, Item, Origin, Selection } from './graph.ts';
import { clientMissing, findClients, overlayFile, type ReadOverlay, readOverlay } from './overlay.ts';
import { createPathMap, type PathMap } from './paths.ts';
import { activeProfiles, knownProfiles } from './profiles.ts';
import { isFor, resolveEntries } from './resolve.ts';
import { apiService, checkEntries, checkSelected } from './rules.ts';
import { selectEntries } from './select.ts';
import { createVariables, type Variables } from './variables.ts';
import { traceOrigins, valueAt } from './why.ts';

/** What rendering and doctor want to know beside the graph. */
export interface LoadedGraph extends Graph {
  readonly manifest: Manifest;
  readonly paths: PathMap;
  readonly name: string;
  /** Those that do not keep it from being used. */
  readonly warnings: readonly Finding[];
  /** Env of a program without its secrets; undefined for what is not the env of one. */
  shownEnv(env: unknown): Readonly<Record<string, string>> | undefined;
}

/** Throws graph_invalid with every finding, client_not_found, LOCAL_RUNTIME_PROFILE_UNKNOWN. Writes nothing. */
export function loadGraph(config: Config, selection: Selection): LoadedGraph {
  const { graph, findings } = examineGraph(config, selection);
  if (graph) return graph;
  const errors = findings.filter(({ severity }) => severity === 'error');
  throw new BoxError('graph_invalid', errors.map(formatFinding).join('\n'), { details: { findings } });
}

/** For those who want the findings whatever they are. */
export function examineGraph(config: Config, selection: Selection): { graph?: LoadedGraph; findings: readonly Finding[] } {
  const read = readBox(config);
  if (!read.manifest) return { findings: read.findings };
  const { manifest, findings: manifestFindings, texts } = read;
  const paths = createPathMap(config, manifest.workspace);
  const clientsRoot = hostOf(paths, 'SKILLBOX_CLIENTS_ROOT');
  const clients = findClients(clientsRoot);
  const chosen = selection.client ?? defaultClient(manifest, clients);
  const overlay = chosen === undefined ? undefined : readOverlay(clientsRoot, chosen, clients);

  const findings: Finding[] = [...manifestFindings, ...(overlay?.findings ?? [])];
  const report: Report = (source, problem) => void findings.push(findingOf(source, problem));
  const box = boxSource(config, read);
  if (selection.client === undefined && manifest.selection.default_client !== undefined && chosen === undefined)
    report(box, {
      code: 'graph.client_unknown',
      path: ['selection', 'default_client'],
      message: clientMissing(manifest.selection.default_client, clients, clientsRoot).message,
    });
  if (Object.hasOwn(manifest.workspace.ports, apiService))
    report(box, {
      code: 'graph.reserved_id',
      path: ['workspace', 'ports', apiService],
      message: 'the server of the box has its port from SKILLBOX_API_PORT',
    });
  if (overlay && !overlay.value) return { findings };

  const sources = [box, ...(overlay?.value ? [overlaySource(overlay, overlay.value.client)] : [])];
  const name = config.name ?? manifest.name ?? 'skillbox';
  const variables = createVariables(config, paths, {
    name,
    ports: manifest.workspace.ports,
    client: chosen,
    origin: (path) => declaredOrigin(box, path),
  });
  const shownEnv = new WeakMap<object, Readonly<Record<string, string>>>();
  const entries = resolveEntries(sources, { variables, paths, stateRoot: config.stateRoot, client: chosen, shownEnv, report });
  const templates = new Set([...builtInTemplates.map((template) => template.name), 'workspace', ...Object.keys(manifest.templates)]);
  checkEntries(entries, { templates, report });

  const items = (Object.keys(sectionNames) as (keyof Entries)[]).flatMap((section) => entries[section].map(({ item }) => item as Item));
  const known = knownProfiles(items);
  const defaults = manifest.selection.default_profiles;
  const asked = selection.profiles.length > 0 ? selection.profiles : defaults.filter((profile) => known.includes(profile));
  const profiles = activeProfiles(asked, known);
  const selected = selectEntries(entries, profiles, createApiService(config, box, paths));
  checkSelected(selected, { report });
  const ledger = ledgerOf(sources, { client: chosen }, entries, report);
  const connectors = connectorsOf(config, manifest);
  const client = overlay?.value
    ? clientOf(overlay, overlay.value.client, sources[1] as Source, { paths, variables, connectors, report })
    : undefined;
  reportDefaults(manifest, known, box, { chosen, report });
  if (findings.some(({ severity }) => severity === 'error')) return { findings: inOrder(findings) };

  let why: ReadonlyMap<string, Origin> | undefined;
  const plain = <T extends Item>(list: readonly Entry<T>[]): T[] => list.map(({ item }) => item);
  const graph: LoadedGraph = {
    ...{ client, profiles, clients, knownProfiles: known, connectors, manifest, paths, name },
    repos: plain(selected.repos),
    artifacts: plain(selected.artifacts),
    envFiles: plain(selected.envFiles),
    skills: plain(selected.skills),
    tasks: plain(selected.tasks),
    services: plain(selected.services),
    logs: plain(selected.logs),
    checks: plain(selected.checks),
    bridges: plain(selected.bridges),
    parityLedger: ledger,
    variables: variables.shown(),
    configHash: hashOf([...texts, ...clients.map((each) => textOf(overlayFile(clientsRoot, each)))]),
    warnings: inOrder(findings),
    shownEnv: (env) => (typeof env === 'object' && env !== null ? shownEnv.get(env) : undefined),
    // Thousands of places: only for who asks.
    get why() {
      why ??= traceOrigins(selected, variables);
      return why;
    },
  };
  return { graph, findings: graph.warnings };
}

interface ReadBox extends ReturnType<typeof checkManifest> {
  readonly texts: readonly string[];
}

function readBox(config: Config): ReadBox {
  const around = ['.env', '.env.example'].map((file) => textOf(join(config.baseDir, file)));
  if (config.manifest === undefined) return { manifest: manifestSchema.parse({ version: 1 }), findings: [], texts: around };
  const text = readManifestText(config.manifest);
  return { ...checkManifest(text, config.manifest, config), texts: [text, ...around] };
}

function boxSource(config: Config, { manifest, document }: ReadBox): Source {
  const file = config.manifest ?? 'default';
  return { file, folder: config.baseDir, client: undefined, key: 'graph', document, sections: (manifest as Manifest).graph };
}

function overlaySource({ file, client, document }: ReadOverlay, sections: Source['sections']): Source {
  return { file, folder: dirname(file), client, key: 'client', document, sections };
}

/** undefined for what the manifest does not say. */
function declaredOrigin(box: Source, path: readonly string[]): Origin | undefined {
  if (path.length === 0 || valueAt(box.document?.value, path) === undefined) return undefined;
  return originOf(box, path);
}

const hostOf = (paths: PathMap, variable: string): string => paths.mounts.find((mount) => mount.variable === variable)?.hostPath ?? '/';

function defaultClient({ selection }: Manifest, clients: readonly string[]): string | undefined {
  return clients.find((client) => client === selection.default_client);
}

function reportDefaults(
  { selection }: Manifest,
  known: readonly string[],
  box: Source,
  { chosen, report }: { chosen: string | undefined; report: Report },
): void {
  // Another client may declare what this one does not.
  if (chosen !== selection.default_client) return;
  for (const [index, profile] of selection.default_profiles.entries()) {
    if (known.includes(profile)) continue;
    report(box, {
      code: 'graph.profile_unknown',
      path: ['selection', 'default_profiles', index],
      message: `nothing is declared for ${profile}; there are ${known.join(', ')}`,
    });
  }
}

function connectorsOf({ connectors }: Config, { graph }: Manifest): string[] {
  return connectors === undefined ? graph.connectors : connectors.split(',').map((name) => name.trim());
}

function ledgerOf(
  sources: readonly Source[],
  selected: { client: string | undefined },
  { bridges }: Entries,
  report: Report,
): LedgerEntry[] {
  const seen = new Set<string>();
  const known = new Set(bridges.map(({ item }) => item.id));
  return sources.flatMap((source) =>
    source.sections.parity_ledger.flatMap((entry, index): LedgerEntry[] => {
      if (!isFor(entry, source, selected)) return [];
      const { legacy_surface, bridge_dependency = null, request_error, ownership_state } = entry;
      const path = [source.key, 'parity_ledger', index];
      if (seen.has(legacy_surface))
        report(source, {
          code: 'graph.duplicate_id',
          path: [...path, 'legacy_surface'],
          message: `${legacy_surface} stands in the ledger twice`,
        });
      seen.add(legacy_surface);
      if (bridge_dependency !== null && !known.has(bridge_dependency))
        report(source, {
          code: 'graph.unknown_reference',
          path: [...path, 'bridge_dependency'],
          message: `${legacy_surface} names the bridge ${bridge_dependency}, which is not declared under bridges`,
        });
      return [
        {
          ...{ legacy_surface, ownership_state, bridge_dependency },
          client: source.client ?? entry.client ?? null,
          surface_type: entry.surface_type,
          action: entry.action,
          intended_profiles: entry.intended_profiles,
          request_error: request_error ?? (ownership_state === 'covered' ? null : 'LOCAL_RUNTIME_SERVICE_DEFERRED'),
        },
      ];
    }),
  );
}

interface ClientContext {
  readonly paths: PathMap;
  readonly variables: Variables;
  readonly connectors: readonly string[];
  readonly report: Report;
}

function clientOf(
  overlay: ReadOverlay,
  declared: NonNullable<ReadOverlay['value']>['client'],
  source: Source,
  context: ClientContext,
): Client {
  const { paths, variables, connectors, report } = context;
  const fill = (path: PropertyKey[], text: string): string => {
    const { text: filled, faults } = variables.fill(text, { reader: 'workspace' });
    for (const fault of faults)
      report(source, { code: fault.code, path: ['client', ...path], message: fault.message, ...(fault.fix && { fix: fault.fix }) });
    return filled;
  };
  const deep = (path: PropertyKey[], value: unknown): unknown => {
    if (typeof value === 'string') return fill(path, value);
    if (Array.isArray(value)) return value.map((item, index) => deep([...path, index], item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deep([...path, key], item)]));
  };
  for (const [index, connector] of declared.connectors.entries())
    if (!connectors.includes(connector))
      report(source, {
        code: 'graph.connector_unknown',
        path: ['client', 'connectors', index],
        message: `the box offers no connector ${connector}; it offers ${connectors.join(', ') || 'none'}`,
      });
  const { id, label, default_cwd, repo_roots, tenant = id } = declared;
  return {
    ...{ id, label, tenant, connectors: declared.connectors, overlay: overlay.file },
    defaultCwd: default_cwd === undefined ? undefined : paths.place(fill(['default_cwd'], default_cwd), source.folder),
    repoRoots: repo_roots.map((root, index) => ({
      id: root.id,
      place: paths.place(fill(['repo_roots', index, 'path'], root.path), source.folder),
    })),
    context: deep(['context'], declared.context) as Record<string, unknown>,
  };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function hashOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}\0`).update(text);
  return hash.digest('hex').slice(0, 16);
}

function inOrder(findings: readonly Finding[]): Finding[] {
  return [...findings].sort(
    (one, other) => (one.file < other.file ? -1 : Number(one.file > other.file)) || one.line - other.line || one.column - other.column,
  );
}
