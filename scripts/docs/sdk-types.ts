/** packages/sdk/src/types.ts: what the box says about itself in /openapi.json, as types. The SDK depends on nothing, and still cannot drift. */

import { openApiDocument } from '../../packages/box/src/server/openapi.ts';
import type { Schema } from './schema.ts';

interface Operation {
  readonly summary: string;
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Schema; description?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>>;
}

export function renderSdkTypes(): string {
  const document = openApiDocument() as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const named = Object.entries(document.components.schemas).map(([name, schema]) => declaration(typeName(name), schema));
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => route(`${method.toUpperCase()} ${path}`, operation)),
  );
  return [
    '/** Made from the schemas of the box by scripts/generate-docs.ts. Do not edit: run make docs. */\n',
    'export interface Page<T> {\n  items: T[];\n  /** null on the last page */\n  next_cursor: string | null;\n}\n',
    ...named,
    `/** Every route: what goes in, wherever it stands in the request, and what comes out. */\nexport interface Routes {\n${routes.join('\n')}\n}\n`,
  ].join('\n');
}

function declaration(name: string, schema: Schema): string {
  const text = typeOf(schema, '');
  const head = schema.description ? `/** ${oneLine(schema.description)} */\n` : '';
  return `${head}${text.startsWith('{') && !schema.anyOf ? `export interface ${name} ${text}` : `export type ${name} = ${text};`}\n`;
}

function route(key: string, operation: Operation): string {
  const fields = { properties: {} as Record<string, Schema>, required: [] as string[] };
  for (const { name, in: place, required, schema, description } of operation.parameters) {
    if (place === 'header') continue;
    fields.properties[name] = { ...schema, ...(description && { description }) };
    if (required) fields.required.push(name);
  }
  const body = operation.requestBody?.content['application/json']?.schema;
  const whole = body?.$ref && Object.keys(fields.properties).length === 0 ? typeOf(body, '    ') : undefined;
  Object.assign(fields.properties, body?.properties);
  fields.required.push(...(body?.required ?? []));
  const input = whole ?? typeOf({ type: 'object', ...fields }, '    ');
  return `  /** ${oneLine(operation.summary)} */\n  '${key}': {\n    input: ${input};\n    output: ${outputOf(operation)};\n  };`;
}

function outputOf({ responses }: Operation): string {
  const content = (responses[200] ?? responses[201])?.content;
  if (!content) return 'undefined';
  const [[type, { schema }]] = Object.entries(content) as [[string, { schema: Schema }]];
  if (type === 'application/json' || type === 'text/event-stream') return typeOf(schema, '    ');
  return type === 'text/plain' ? 'string' : 'Uint8Array';
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref) return typeName(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.anyOf) return union(schema.anyOf.map((one) => typeOf(one, indent)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case 'array':
      return `${bracketed(typeOf(schema.items ?? {}, indent))}[]`;
    case 'object':
      return objectType(schema, indent);
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return String(schema.type);
    default:
      return 'unknown';
  }
}

function objectType(schema: Schema, indent: string): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const names = Object.keys(properties);
  if (names.join() === 'items,next_cursor') return `Page<${typeOf(properties.items?.items ?? {}, indent)}>`;
  if (names.length === 0) {
    if (typeof additionalProperties === 'object') return `Record<string, ${typeOf(additionalProperties, indent)}>`;
    return 'Record<string, never>';
  }
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, field]) => {
    const remark = field.description ? `${inner}/** ${oneLine(field.description)} */\n` : '';
    return `${remark}${inner}${/^\w+$/.test(name) ? name : literal(name)}${required.includes(name) ? '' : '?'}: ${typeOf(field, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

/** Not the names that browsers have. */
const typeName = (name: string): string => ({ Error: 'ErrorBody', Event: 'BoxEvent' })[name] ?? name;

/** What a wider type beside it says already is left out: `'latest' | string`, and the words that stand for a switch in a query. */
function union(types: readonly string[]): string {
  const single = [...new Set(types.flatMap((type) => (type.includes('{') ? type : type.split(' | '))))];
  const wider = single.includes('string') || single.includes('boolean');
  return single.filter((type) => !(wider && type.startsWith("'"))).join(' | ');
}

const bracketed = (type: string): string => (type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type);
const literal = (value: unknown): string => `'${String(value).replaceAll("'", "\\'")}'`;
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('*/', '* /');
