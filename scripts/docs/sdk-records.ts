/** The records that the SDKs for Python and Go hand out, made from /openapi.json: each SDK is one file, and still cannot drift. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '../../packages/box/src/server/openapi.ts';
import type { Schema } from './schema.ts';

const root = join(import.meta.dirname, '../..');
/** Requests, whose form is each SDK's own, and errors. */
const notRecords = ['CreateSandbox', 'ExecutionRequest', 'NetworkChoice', 'Error'];

type Type =
  | { readonly kind: 'text' | 'integer' | 'number' | 'truth' | 'anything' }
  | { readonly kind: 'choice'; readonly words: readonly string[] }
  | { readonly kind: 'list' | 'map'; readonly of: Type }
  | { readonly kind: 'record'; readonly name: string };

interface Field {
  readonly name: string;
  readonly type: Type;
  /** May be null, or absent. */
  readonly nullable: boolean;
  /** May be absent. */
  readonly optional: boolean;
  readonly remark: string | undefined;
}

interface RecordType {
  readonly name: string;
  readonly remark: string | undefined;
  readonly fields: readonly Field[];
}

export const renderPythonSdk = (): string => withRecords('sdks/python/skillbox/__init__.py', '#', pythonRecords);
export const renderGoSdk = (): string => withRecords('sdks/go/skillbox.go', '//', goRecords);

/** The file as it is, with what stands between its marks made anew. */
function withRecords(file: string, comment: string, render: (records: readonly RecordType[]) => string): string {
  const begin = `${comment} Records: made from the schemas of the box by make docs. Do not edit.\n`;
  const end = `${comment} End of the records.\n`;
  const text = readFileSync(join(root, file), 'utf8');
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`${file} lacks the marks between which its records stand.`);
  return text.slice(0, from + begin.length) + render(records()) + text.slice(to);
}

/** What a record holds stands before it. */
function records(): RecordType[] {
  const { schemas } = (openApiDocument() as { components: { schemas: Record<string, Schema> } }).components;
  const found = new Map<string, RecordType>();
  const add = (name: string, schema: Schema): void => {
    const { properties = {}, required = [] } = schema;
    if (found.has(name)) return;
    const fields = Object.entries(properties).map(([field, of]) => {
      const { type, nullable } = typeOf(of, name + pascal(field));
      const optional = !required.includes(field);
      return { name: field, type, nullable: nullable || optional, optional, remark: of.description };
    });
    found.set(name, { name, remark: schema.description, fields });
  };
  const typeOf = (schema: Schema, inner: string): { type: Type; nullable: boolean } => {
    if (schema.$ref) return named(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
    if (schema.enum) return { type: { kind: 'choice', words: schema.enum.map(String) }, nullable: false };
    const types = schema.anyOf ?? (Array.isArray(schema.type) ? schema.type.map((type: string) => ({ ...schema, type })) : [schema]);
    const values = types.filter(({ type }) => type !== 'null');
    const [only] = values as [Schema];
    const nullable = values.length < types.length;
    if (values.length > 1) return { type: { kind: 'anything' }, nullable };
    if (schema.anyOf) return { type: typeOf(only, inner).type, nullable };
    return { type: plain(only, inner), nullable };
  };
  const plain = (schema: Schema, inner: string): Type => {
    if (schema.type === 'array') return { kind: 'list', of: typeOf(schema.items ?? {}, inner.replace(/s$/, '')).type };
    if (schema.type === 'integer' || schema.type === 'number') return { kind: schema.type };
    if (schema.type === 'string') return { kind: 'text' };
    if (schema.type === 'boolean') return { kind: 'truth' };
    if (schema.type !== 'object') return { kind: 'anything' };
    if (!schema.properties) {
      const of =
        typeof schema.additionalProperties === 'object' ? typeOf(schema.additionalProperties, inner).type : { kind: 'anything' as const };
      return { kind: 'map', of };
    }
    add(inner, schema);
    return { kind: 'record', name: inner };
  };
  const named = (name: string): { type: Type; nullable: boolean } => {
    const schema = schemas[name] ?? {};
    if (!schema.properties) return schema.anyOf ? { type: { kind: 'anything' }, nullable: false } : typeOf(schema, name);
    add(name, schema);
    return { type: { kind: 'record', name }, nullable: false };
  };
  for (const [name, schema] of Object.entries(schemas)) if (schema.properties && !notRecords.includes(name)) add(name, schema);
  return [...found.values()];
}

function pythonRecords(all: readonly RecordType[]): string {
  const typeText = (type: Type): string => {
    if (type.kind === 'list') return `List[${typeText(type.of)}]`;
    if (type.kind === 'map') return `Dict[str, ${typeText(type.of)}]`;
    if (type.kind === 'record') return type.name;
    if (type.kind === 'choice') return `Literal[${type.words.map((word) => `"${word}"`).join(', ')}]`;
    return { text: 'str', integer: 'int', number: 'float', truth: 'bool', anything: 'Any' }[type.kind];
  };
  return all
    .map(({ name, remark, fields }) => {
      const head = `\n\n@dataclass(frozen=True)\nclass ${name}${name === 'Execution' ? '(_Ends)' : ''}:\n`;
      // What has a default comes last in Python.
      const lines = [...fields]
        .sort((a, b) => Number(a.optional) - Number(b.optional))
        .map((field) => {
          const type = field.type.kind === 'anything' || !field.nullable ? typeText(field.type) : `Optional[${typeText(field.type)}]`;
          return `${field.remark ? `    #: ${oneLine(field.remark)}\n` : ''}    ${field.name}: ${type}${field.optional ? ' = None' : ''}\n`;
        });
      return `${head}${remark ? `    """${oneLine(remark)}"""\n\n` : ''}${lines.join('')}`;
    })
    .join('')
    .concat('\n\n');
}

function goRecords(all: readonly RecordType[]): string {
  const typeText = (type: Type): string => {
    if (type.kind === 'list') return `[]${typeText(type.of)}`;
    if (type.kind === 'map') return `map[string]${typeText(type.of)}`;
    if (type.kind === 'record') return type.name;
    return { text: 'string', choice: 'string', integer: 'int64', number: 'float64', truth: 'bool', anything: 'json.RawMessage' }[type.kind];
  };
  const remarkOf = ({ remark, type }: Field): string => {
    const choice = type.kind === 'choice' ? type.words.join(', ') : undefined;
    return [remark, choice].map((text) => (text === undefined ? '' : `\t// ${oneLine(text)}\n`)).join('');
  };
  return all
    .map(({ name, remark, fields }) => {
      const rows = fields.map((field) => {
        const pointer = field.nullable && !['list', 'map', 'anything'].includes(field.type.kind) ? '*' : '';
        return { field, name: goName(field.name), type: pointer + typeText(field.type) };
      });
      const lines = rows.map((row, place) => {
        const remark = remarkOf(row.field);
        // As gofmt does: a remark ends the rows that are aligned with each other.
        const first = rows.slice(0, place + 1).findLastIndex(({ field }) => remarkOf(field) !== '');
        const after = rows.findIndex(({ field }, other) => other > place && remarkOf(field) !== '');
        const aligned = rows.slice(Math.max(first, 0), after === -1 ? rows.length : after);
        const widest = (of: 'name' | 'type'): number => Math.max(...aligned.map((other) => other[of].length));
        return `${remark}\t${row.name.padEnd(widest('name'))} ${row.type.padEnd(widest('type'))} \`json:"${row.field.name}${row.field.optional ? ',omitempty' : ''}"\`\n`;
      });
      return `\n// ${name} is a record of the box.${remark ? ` ${oneLine(remark)}.` : ''}\ntype ${name} struct {\n${lines.join('')}}\n`;
    })
    .join('')
    .concat('\n');
}

const pascal = (name: string): string => name.replace(/(^|_)(\w)/g, (_match, _dash, letter: string) => letter.toUpperCase());
/** As Go writes the words that are initials. */
const goName = (name: string): string =>
  pascal(name).replace(/(Id|Url|Ms|Cpu|Cpus|Ttl|Pid|Sha256)(?=[A-Z]|$)/g, (word) => (word === 'Cpus' ? 'CPUs' : word.toUpperCase()));
const oneLine = (text: string): string => text.replace(/\s+/g, ' ');
