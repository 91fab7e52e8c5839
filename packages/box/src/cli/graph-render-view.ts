/** skillbox render and describe: what is declared, for people. */

import { isAbsolute, relative } from 'node:path';
import type { BoxModel, RenderedGraph } from '@skillbox/protocol';
import type { Io } from './io.ts';
import { oneLine, type Paint, printable } from './paint.ts';
import { type Column, formatFacts, formatTable } from './table.ts';

export function renderView({ client, profiles, graph, variables, why }: RenderedGraph, { paint, width }: Io): string {
  const head = paint('dim', `# ${client === null ? 'no client' : `client ${oneLine(client)}`}, ${profiles.map(oneLine).join(' + ')}`);
  if (why.length === 0) return `${head}\n${printable(outline(graph).join('\n'))}`;
  const rows = why
    .filter(({ file }) => file !== 'default')
    .map(({ path, file, line }) => ({ path, value: valueAt({ ...graph, variables }, path), from: originText(file, line) }));
  const note = paint('dim', 'What is not listed is a default: skillbox render shows it.');
  return `${head}\n${formatTable(rows, whyColumns, { paint, width })}\n\n${note}`;
}

/** As YAML, which the manifest is written in; the library for it is too slow to load for this. */
function outline(value: object, indent = '', lines: string[] = []): string[] {
  for (const [name, item] of Object.entries(value)) {
    if (saysNothing(name, item)) continue;
    if (Array.isArray(item) && item.some(isGroup)) {
      lines.push(`${indent}${name}:`);
      for (const each of item) list(each, `${indent}  `, lines);
    } else if (isGroup(item)) {
      lines.push(`${indent}${name}:`);
      outline(item, `${indent}  `, lines);
    } else lines.push(`${indent}${name}: ${scalar(item)}`);
  }
  return lines;
}

function list(item: unknown, indent: string, lines: string[]): void {
  if (!isGroup(item)) {
    lines.push(`${indent}- ${scalar(item)}`);
    return;
  }
  const first = lines.length;
  outline(item, `${indent}  `, lines);
  lines[first] = `${indent}- ${lines[first]?.trimStart() ?? ''}`;
}

/** With something to say in it. */
const isGroup = (value: unknown): value is object =>
  value !== null &&
  typeof value === 'object' &&
  !Array.isArray(value) &&
  Object.entries(value).some(([name, inner]) => !saysNothing(name, inner));

/** A text without quotes only where nobody can take it for anything else. */
function scalar(value: unknown): string {
  if (typeof value !== 'string') return value !== null && typeof value === 'object' && !Array.isArray(value) ? '{}' : JSON.stringify(value);
  const plain = /^[A-Za-z/.][\w ./:@=+-]*$/.test(value) && !/: |^(true|false|null|yes|no|on|off)$/i.test(value);
  return plain ? value : JSON.stringify(value);
}

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

/** Relative to where the reader is, if that is near. */
function originText(file: string, line: number): string {
  const near = isAbsolute(file) ? relative(process.cwd(), file) : file;
  const shown = near.startsWith('../..') ? file : near;
  return line > 0 ? `${shown}:${line}` : shown;
}

/** Fields of the manifest that the rendered graph has under another name. */
const renamed: Readonly<Record<string, string>> = {
  path: 'place',
  command: 'commands',
  skill_repos_config: 'config',
  lock_path: 'lock',
  install_targets: 'targets',
};

/** The value that services.web.command stands for. Ids may have dots in them. */
function valueAt(graph: Readonly<Record<string, unknown>>, path: string): string {
  const [section = ''] = path.split('.', 1);
  const rest = path.slice(section.length + 1);
  const part = graph[section];
  if (!Array.isArray(part)) return told(within(part, rest.split('.')));
  const item = part
    .filter((each) => rest === nameOf(each) || rest.startsWith(`${nameOf(each)}.`))
    .sort((one, other) => nameOf(other).length - nameOf(one).length)[0];
  const keys = rest.slice(nameOf(item).length + 1);
  return keys === '' ? '' : told(within(item, keys.split('.')));
}

function within(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined || value === null || typeof value !== 'object') return value;
  const fields = value as Record<string, unknown>;
  const found = fields[key] ?? fields[renamed[key] ?? key];
  // What a check looks at stands in a group of its own.
  return found === undefined && fields.probe !== undefined ? within(fields.probe, [key, ...rest]) : within(found, rest);
}

function told(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(told).join(', ');
  if (typeof value !== 'object') return String(value);
  if ('path' in value) return told(value.path);
  return [...new Set(Object.values(value).map(told))].join(', ');
}

const nameOf = (item: unknown): string => {
  const { id, legacy_surface } = (item ?? {}) as { id?: unknown; legacy_surface?: unknown };
  return String(id ?? legacy_surface ?? '');
};

/** Empty lists, and what is false or empty by default. */
const saysNothing = (name: string, value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0) || (name === 'required' && value === false);

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
