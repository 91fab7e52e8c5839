/** Looks at a JSON Schema of an unknown author without running it: is it within bounds, and could checking with it take long? */

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface SchemaShape {
  /** What is wrong with it, or undefined. */
  readonly problem: string | undefined;
  /** Where: keys from the schema's top, for the line of a finding. */
  readonly at: readonly (string | number)[];
  /** Values in the schema, a measure of its cost. */
  readonly nodes: number;
  /** Time is not bounded by sizes: a pattern can backtrack, references can multiply, uniqueItems is quadratic. */
  readonly unbounded: boolean;
  /** Names another dialect than 2020-12. */
  readonly otherDialect: boolean;
}

export const schemaLimits = { bytes: 64 * 1024, nodes: 5000, depth: 40 } as const;
const dialect = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

export function inspectSchema(schema: JsonSchema): SchemaShape {
  const state: WalkState = { nodes: 0, unbounded: false };
  const fault = inspectNode(schema, [], 'schema', state) ?? (tooLarge(schema) ? { problem: sizeProblem, at: [] } : undefined);
  const otherDialect = typeof schema.$schema === 'string' && !dialect.test(schema.$schema);
  return { problem: fault?.problem, at: fault?.at ?? [], nodes: state.nodes, unbounded: state.unbounded, otherDialect };
}

/** The schema without what names it: with local references only, `$id` and `$schema` change nothing but could collide with another skill's. */
export function anonymous(schema: JsonSchema): JsonSchema {
  const { $id: _id, $schema: _schema, ...rest } = schema;
  return rest;
}

/** Values in a piece of JSON; stops early, and gives Infinity, when it is larger or deeper than asked for. */
export function countValues(value: unknown, most: number, depth: number): number {
  let count = 0;
  let level: unknown[] = [value];
  for (let at = 0; level.length > 0; at += 1) {
    if (at > depth) return Number.POSITIVE_INFINITY;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      for (const child of Object.values(item)) next.push(child);
    }
    count += level.length;
    if (count + next.length > most) return Number.POSITIVE_INFINITY;
    level = next;
  }
  return count;
}

interface WalkState {
  nodes: number;
  unbounded: boolean;
}

interface Fault {
  readonly problem: string;
  readonly at: readonly (string | number)[];
}

/** Under these keywords the keys are names of the author's choice and the values schemas. */
const schemaMaps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Under these there is data, whatever it looks like. */
const dataKeywords = new Set(['const', 'enum', 'default', 'examples', 'example', 'required', 'dependentRequired']);
const references = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
const unboundedKeywords = new Set(['pattern', 'patternProperties', 'uniqueItems', ...references]);
/** Formats that are checked by a short anchored expression. */
const quickFormats = new Set([
  'date',
  'time',
  'date-time',
  'uuid',
  'ipv4',
  'int32',
  'int64',
  'float',
  'double',
  'byte',
  'password',
  'binary',
]);
const sizeProblem = `is larger than ${schemaLimits.bytes} bytes`;

type Kind = 'schema' | 'map' | 'data';

function inspectNode(value: unknown, at: readonly (string | number)[], kind: Kind, state: WalkState): Fault | undefined {
  state.nodes += 1;
  if (state.nodes > schemaLimits.nodes) return { problem: `has more than ${schemaLimits.nodes} values`, at: [] };
  if (at.length > schemaLimits.depth) return { problem: `is nested deeper than ${schemaLimits.depth}`, at };
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    const place = [...at, Array.isArray(value) ? Number(key) : key];
    if (key === '__proto__') return { problem: 'has a key named __proto__', at: place };
    const fault = kind === 'schema' && !Array.isArray(value) ? inspectKeyword(key, child, place, state) : undefined;
    const deeper = fault ?? inspectNode(child, place, kindUnder(key, kind, Array.isArray(value)), state);
    if (deeper) return deeper;
  }
  return undefined;
}

function inspectKeyword(key: string, value: unknown, at: readonly (string | number)[], state: WalkState): Fault | undefined {
  if (unboundedKeywords.has(key)) state.unbounded = true;
  if (key === 'format' && !quickFormats.has(String(value))) state.unbounded = true;
  if (references.has(key) && !(typeof value === 'string' && value.startsWith('#'))) {
    return { problem: `refers to ${JSON.stringify(value)}; only references inside the schema (#/…) are followed`, at };
  }
  if (key === '$id' && at.length > 1) return { problem: 'has an $id inside; only the top of a schema may have one', at };
  if (key === '$async') return { problem: 'has $async, which is not part of JSON Schema', at };
  return undefined;
}

function kindUnder(key: string, kind: Kind, isList: boolean): Kind {
  if (kind === 'data') return 'data';
  if (kind === 'map' || isList) return 'schema';
  if (dataKeywords.has(key)) return 'data';
  return schemaMaps.has(key) ? 'map' : 'schema';
}

function tooLarge(schema: JsonSchema): boolean {
  return Buffer.byteLength(JSON.stringify(schema)) > schemaLimits.bytes;
}
