/** One entry into a file of settings that belongs to another program, and out of it again. Everything else in it stays as it is. */

import { BoxError } from '@skillbox/protocol';
import { isObject, type JsonClient, type Server, type TomlClient } from './mcp-clients.ts';

type Json = Record<string, unknown>;

/** `server` is missing for one that is to go. */
export function editJson(text: string, { at, entry, item }: JsonClient, server: Server | undefined): string {
  const root = parse(text);
  const list = item && (Array.isArray(root[item.list]) ? (root[item.list] as Json[]) : []);
  const others = list?.filter(({ id }) => id !== item?.value.id) ?? [];
  const needed = server?.kind === 'http' && item ? [...others, item.value] : others;
  const edited = place(root, at, server && entry(server));
  if (item) {
    if (needed.length > 0) edited[item.list] = needed;
    else if (others.length !== (list?.length ?? 0)) delete edited[item.list];
  }
  if (JSON.stringify(edited) === JSON.stringify(root)) return text;
  if (Object.keys(edited).length === 0) return '';
  const indent = /^\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? 2;
  return `${JSON.stringify(edited, undefined, indent)}\n`;
}

function parse(text: string): Json {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below: comments, most often, which writing it anew would lose.
  }
  throw notOurs('it is not plain JSON (perhaps it has comments)');
}

/** A new object; what becomes empty by taking the entry out goes with it. */
function place(from: Json, [name = '', ...rest]: readonly string[], value: Json | undefined): Json {
  const { [name]: below, ...others } = from;
  if (below !== undefined && !isObject(below)) throw notOurs(`${name} is not an object`);
  const inner = rest.length === 0 ? value : place(below ?? {}, rest, value);
  if (inner === undefined || Object.keys(inner).length === 0) return value === undefined && below === undefined ? from : others;
  return below === undefined
    ? { ...from, [name]: inner }
    : Object.fromEntries(Object.entries(from).map(([key, old]) => [key, key === name ? inner : old]));
}

export function editToml(text: string, { table, entry }: TomlClient, server: Server | undefined): string {
  const [first = ''] = table.split('.');
  if (new RegExp(`^\\s*${first}\\s*[.=]`, 'm').test(text)) throw notOurs(`${first} is written in another way than as tables`);
  const { before, own, after } = split(text, table);
  if (!server) return own === '' ? text : join(before, after);
  const wanted = [`[${table}]`, ...Object.entries(entry(server)).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)].join('\n');
  if (own.trim() === wanted) return text;
  return own === ''
    ? `${before === '' ? '' : `${before.trimEnd()}\n\n`}${wanted}\n`
    : join(before, `${wanted}\n${after === '' ? '' : `\n${after}`}`);
}

const join = (before: string, after: string): string => (after.trim() === '' && before !== '' ? `${before.trimEnd()}\n` : before + after);

/** The table and those below it, and what stands around them. */
function split(text: string, table: string): { before: string; own: string; after: string } {
  const parts = { before: '', own: '', after: '' };
  let at: keyof typeof parts = 'before';
  let quote = '';
  for (const line of text.split(/(?<=\n)/)) {
    const header = quote === '' ? /^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$/.exec(line.trimEnd())?.[1]?.replaceAll('"', '') : undefined;
    if (header !== undefined) {
      const mine = header === table || header.startsWith(`${table}.`);
      at = mine ? 'own' : at === 'before' ? 'before' : 'after';
    }
    parts[at] += line;
    // Within a text of several lines nothing is a table.
    for (const [mark] of line.matchAll(/"""|'''/g)) quote = quote === '' ? mark : quote === mark ? '' : quote;
  }
  return parts;
}

const notOurs = (why: string): BoxError =>
  new BoxError('usage', `The file cannot be changed without harm: ${why}.`, {
    hint: 'Let --print show what belongs into it, and write it yourself.',
  });
