/** skillbox render and describe: what is declared, for people. */

import type { BoxModel, RenderedGraph } from '@skillbox/protocol';
import type { Io } from './io.ts';
import { oneLine, type Paint, printable } from './paint.ts';
import { type Column, formatFacts, formatTable } from './table.ts';

export function renderView({ client, profiles, graph, why }: RenderedGraph, { paint, width }: Io): string {
  const head = paint('dim', `# ${client === null ? 'no client' : `client ${oneLine(client)}`}, ${profiles.map(oneLine).join(' + ')}`);
  const declared = Object.fromEntries(Object.entries(graph).filter(([, items]) => !isEmpty(items)));
  if (why.length === 0) return `${head}\n${printable(outline(declared).join('\n'))}`;
  const byPath = new Map(why.map(({ path, file, line }) => [path, `${file}:${line}`]));
  const rows = flattened(declared).map(([path, value]) => ({ path, value, from: originOf(byPath, path) }));
  return `${head}\n${formatTable(rows, whyColumns, { paint, width })}`;
}

/** As YAML, which the manifest is written in; the library for it is too slow to load for this. */
function outline(value: unknown, indent = ''): string[] {
  return Object.entries(value as Record<string, unknown>).flatMap(([name, item]) => {
    if (Array.isArray(item) && item.some(isGroup)) return [`${indent}${name}:`, ...item.flatMap((each) => listed(each, `${indent}  `))];
    if (isGroup(item)) return [`${indent}${name}:`, ...outline(item, `${indent}  `)];
    return [`${indent}${name}: ${scalar(item)}`];
  });
}

function listed(item: unknown, indent: string): string[] {
  if (!isGroup(item)) return [`${indent}- ${scalar(item)}`];
  const [first = '', ...rest] = outline(item, `${indent}  `);
  return [`${indent}- ${first.trimStart()}`, ...rest];
}

const isGroup = (value: unknown): value is object =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0;

/** A text without quotes only where nobody can take it for anything else. */
const scalar = (value: unknown): string =>
  typeof value === 'string' && /^[A-Za-z/.][\w ./:@=+-]*$/.test(value) && !/: |^(true|false|null|yes|no|on|off)$/i.test(value)
    ? value
    : JSON.stringify(value);

interface Row {
  readonly path: string;
  readonly value: string;
  readonly from: string;
}

const whyColumns: Column<Row>[] = [
  { title: 'VALUE OF', value: ({ path }) => path, tone: () => 'bold' },
  { title: 'DECLARED IN', value: ({ from }) => from, tone: () => 'dim' },
  { title: 'VALUE', value: ({ value }) => value },
];

/** services.web.command and its value, for every value there is. Items go by their id. */
function flattened(value: unknown, path = ''): [string, string][] {
  if (value === null || typeof value !== 'object') return [[path, String(value)]];
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== 'object'))
    return [[path, value.map(String).join(', ')]];
  const entries = Array.isArray(value) ? value.map((item, at) => [nameOf(item, at), item] as const) : Object.entries(value);
  return entries.flatMap(([name, item]) => flattened(item, path === '' ? name : `${path}.${name}`));
}

function nameOf(item: unknown, at: number): string {
  const { id, legacy_surface } = (item ?? {}) as { id?: unknown; legacy_surface?: unknown };
  return typeof id === 'string' ? id : typeof legacy_surface === 'string' ? legacy_surface : String(at);
}

/** A value without a line of its own stands where what it is part of stands. */
function originOf(byPath: ReadonlyMap<string, string>, path: string): string {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const found = byPath.get(at);
    if (found !== undefined) return found;
  }
  return 'default';
}

const isEmpty = (items: unknown): boolean => Array.isArray(items) && items.length === 0;

export function describeView(model: BoxModel, { paint, width }: Io): string {
  const facts = formatFacts(
    [
      ['name', oneLine(model.name)],
      ['purpose', model.purpose === null ? undefined : oneLine(model.purpose)],
      ['version', model.version],
      ['workspace', `${model.runtime.mode}, ${model.runtime.provider}, user ${model.runtime.agent_user}, network ${model.runtime.network}`],
      [
        'ports',
        Object.entries(model.ports)
          .map(([name, port]) => `${oneLine(name)} ${port}`)
          .join(', '),
      ],
      ['manifest', model.manifest ?? 'none: built-in defaults'],
      ['state root', model.state_root],
      ['clients', model.clients.map(oneLine).join(', ') || 'none'],
      ['profiles', model.profiles.map(oneLine).join(', ')],
    ],
    paint,
  );
  return `${facts}\n\n${pathsOf(model, paint, width)}`;
}

const pathColumns: Column<BoxModel['paths'][number]>[] = [
  { title: 'VARIABLE', value: ({ variable }) => variable },
  { title: 'IN THE WORKSPACE', value: ({ path }) => path, tone: () => 'bold' },
  { title: 'ON THE HOST', value: ({ host_path }) => host_path },
];

const pathsOf = ({ paths }: BoxModel, paint: Paint, width: number | undefined): string => formatTable(paths, pathColumns, { paint, width });
