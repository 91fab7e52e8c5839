/**
 * Values against the JSON Schemas (2020-12) that skills bring along.
 *
 * The author of a schema is not trusted: a pattern can backtrack for years. What is provably quick is checked here; anything
 * else in a thread with a time limit. A schema that ran over it is refused for a while, so that it cannot hold the threads.
 */

import { BoxError } from '@skillbox/protocol';
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { anonymous, countValues, inspectSchema, type JsonSchema, type SchemaShape } from './schema-shape.ts';
import { checkInWorker } from './schema-worker.ts';

export interface SchemaError {
  /** JSON pointer into the value, '' for the value itself. */
  readonly path: string;
  readonly message: string;
  readonly keyword: string;
}

export interface CompiledSchema {
  readonly text: string;
  readonly shape: SchemaShape;
  /** Checks in this thread; undefined when that could take long. */
  readonly check: ValidateFunction | undefined;
}

export interface SchemaProblem {
  readonly message: string;
  /** Keys that lead to the faulty place. */
  readonly at: readonly (string | number)[];
}

/** Of wall time, so generous: a busy host must not make an honest schema fail. */
export const validationLimitMs = 2000;

/** Why the schema cannot be used, or undefined when it can. */
export async function schemaProblem(schema: JsonSchema): Promise<SchemaProblem | undefined> {
  const shape = inspectSchema(schema);
  if (shape.problem) return { message: shape.problem, at: shape.at };
  const text = JSON.stringify(anonymous(schema));
  if (isQuickToCompile(shape)) {
    const compiled = compileQuick(text);
    return typeof compiled === 'string' ? { message: compiled, at: [] } : undefined;
  }
  const answer = await checkInWorker(text, null, ajvOptions, validationLimitMs);
  if (!answer) return { message: `takes longer than ${validationLimitMs} ms to prepare`, at: [] };
  return answer.problem === undefined ? undefined : { message: answer.problem, at: [] };
}

/** Prepares a schema that was found good when its skill was pushed; the last ones are kept. */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const known = byIdentity.get(schema);
  if (known) return known;
  const text = JSON.stringify(anonymous(schema));
  const compiled = byText.get(text) ?? compile(schema, text);
  byIdentity.set(schema, compiled);
  remember(byText, text, compiled, 256);
  return compiled;
}

/** Null when the value fits, else the first faults. */
export async function validateAgainst(schema: JsonSchema, value: unknown): Promise<SchemaError[] | null> {
  const { text, shape, check } = compileSchema(schema);
  const values = countValues(value, maxValues, maxDepth);
  if (values === Number.POSITIVE_INFINITY)
    return [fault('size', `has more than ${maxValues} values, or is nested deeper than ${maxDepth}`)];
  if (check && shape.nodes * values <= quickCost) return check(value) ? null : describeAll(check.errors ?? []);

  const blockedUntil = overtime.get(text) ?? 0;
  if (blockedUntil > Date.now()) return [overtimeFault];
  const answer = await checkInWorker(text, value, ajvOptions, validationLimitMs);
  if (!answer) {
    remember(overtime, text, Date.now() + overtimeMs, 1000);
    return [overtimeFault];
  }
  if (answer.problem !== undefined) throw unusable(answer.problem);
  return answer.errors === null ? null : describeAll(answer.errors as ErrorObject[]);
}

const ajvOptions: Options = { strict: false, allErrors: true, logger: false, ownProperties: true };
const maxValues = 1_000_000;
const maxDepth = 500;
/** Pairs of a schema's and a value's parts that this thread looks at; a few milliseconds. */
const quickCost = 200_000;
const quickNodes = 400;
const maxErrors = 20;
const overtimeMs = 30_000;
const overtimeFault = fault('timeout', `could not be checked within ${validationLimitMs} ms: simplify the schema's patterns`);

const byIdentity = new WeakMap<JsonSchema, CompiledSchema>();
const byText = new Map<string, CompiledSchema>();
const overtime = new Map<string, number>();
let shared: Ajv2020 | undefined;

function compile(schema: JsonSchema, text: string): CompiledSchema {
  const shape = inspectSchema(schema);
  if (shape.problem) throw unusable(shape.problem);
  if (!isQuickToCompile(shape)) return { text, shape, check: undefined };
  const check = compileQuick(text);
  if (typeof check === 'string') throw unusable(check);
  return { text, shape, check };
}

const isQuickToCompile = (shape: SchemaShape): boolean => !shape.unbounded && shape.nodes <= quickNodes;

/** The function, or what ajv says against the schema. */
function compileQuick(text: string): ValidateFunction | string {
  shared ??= addFormats.default(new Ajv2020(ajvOptions));
  const schema = JSON.parse(text) as JsonSchema;
  try {
    return shared.compile(schema);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    // ajv keeps every schema it has seen; ours are kept, and forgotten, in byText.
    shared.removeSchema(schema);
  }
}

function describeAll(errors: readonly ErrorObject[]): SchemaError[] {
  return errors.slice(0, maxErrors).map((error) => ({ path: error.instancePath, message: describe(error), keyword: error.keyword }));
}

/** ajv's sentence, with the name or the choices that it leaves out. */
function describe({ keyword, message = 'does not fit', params }: ErrorObject): string {
  const extra = params.additionalProperty ?? params.unevaluatedProperty ?? params.propertyName;
  if (typeof extra === 'string') return `${message}: ${JSON.stringify(extra)}`;
  if (keyword === 'enum') return `${message}: ${JSON.stringify(params.allowedValues).slice(0, 200)}`;
  if (keyword === 'const') return `${message}: ${JSON.stringify(params.allowedValue).slice(0, 200)}`;
  return message;
}

function fault(keyword: string, message: string): SchemaError {
  return { path: '', message, keyword };
}

function unusable(reason: string): BoxError {
  return new BoxError('invalid_skill', `A schema of the skill cannot be used: ${reason}`);
}

/** A map that forgets what was put in first. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
