/** Flags and arguments of a command, derived from the schema of its input, and back from text to input. */

import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import type { Leaf } from './leaf.ts';

export interface Parameter {
  /** Field of the input. */
  readonly field: string;
  /** As typed: expires-in. */
  readonly name: string;
  readonly positional: boolean;
  readonly required: boolean;
  readonly kind: 'text' | 'number' | 'switch' | 'list' | 'pairs';
  /** A switch that is on unless --no-name is given. */
  readonly on: boolean;
  /** Stands for the value in help texts. */
  readonly placeholder: string;
  readonly choices: readonly string[] | undefined;
  readonly description: string;
  readonly fallback: string | undefined;
}

interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: FieldSchema;
  readonly anyOf?: readonly FieldSchema[];
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly placeholder?: string;
}

export function parametersOf({ args, input }: Pick<Leaf, 'args' | 'input'>): Parameter[] {
  const { properties = {} } = z.toJSONSchema(z.object(input.shape), { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const order = args.map(bare);
  const fields = [...order, ...Object.keys(input.shape).filter((field) => !order.includes(field))];
  return fields.map((field) => describe(field, properties[field] as FieldSchema, args, input.shape[field] as z.ZodType));
}

/** The flag or argument as people write it, for messages. */
export const spelled = ({ positional, name }: Parameter): string => (positional ? name.toUpperCase() : `--${name}`);

/** The input as given, still without defaults; throws `usage` that names the flag. */
export function decode(leaf: Pick<Leaf, 'args' | 'input'>, given: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const parameters = parametersOf(leaf);
  const values: Record<string, unknown> = {};
  for (const parameter of parameters) {
    const value = given.get(parameter.field);
    if (value !== undefined) values[parameter.field] = decodeValue(parameter, value);
  }
  const parsed = leaf.input.safeParse(values);
  if (parsed.success) return values;
  const [issue] = parsed.error.issues;
  const at = parameters.find(({ field }) => field === issue?.path[0]);
  if (!at || !issue) throw new BoxError('usage', 'These flags do not fit together.');
  throw wrong(at, values[at.field] === undefined ? 'is needed' : readable(at, issue.message));
}

function describe(field: string, schema: FieldSchema, args: readonly string[], type: z.ZodType): Parameter {
  const positional = args.some((arg) => bare(arg) === field);
  const kind = kindOf(schema);
  const choices = schema.enum ?? schema.items?.enum;
  return {
    field,
    name: field.replaceAll('_', '-'),
    positional,
    required: positional ? args.includes(field) : !type.safeParse(undefined).success,
    kind,
    on: kind === 'switch' && schema.default === true,
    placeholder: schema.placeholder ?? placeholderOf(schema, kind, field),
    choices: choices?.map(String),
    description: schema.description ?? '',
    fallback: fallbackOf(schema),
  };
}

/** Longer lists stand in the description. */
const widestChoices = 24;

function kindOf({ type, anyOf }: FieldSchema): Parameter['kind'] {
  // What stands in a query is true, or the text true.
  if (type === 'boolean' || anyOf?.some((choice) => choice.type === 'boolean')) return 'switch';
  if (type === 'array') return 'list';
  if (type === 'object') return 'pairs';
  if (type === 'integer' || type === 'number') return 'number';
  // A choice between texts, such as a version or latest, is text.
  if (type === 'string' || type === undefined || anyOf) return 'text';
  throw new Error(`There is no flag for a field of type ${type}.`);
}

function placeholderOf(schema: FieldSchema, kind: Parameter['kind'], field: string): string {
  const choices = schema.enum?.join('|');
  if (choices !== undefined) return choices.length <= widestChoices ? choices : field;
  if (kind === 'number') return 'n';
  if (kind === 'pairs') return 'name=value';
  if (kind === 'list') return schema.items?.enum ? 'a,b' : 'value';
  return schema.format === 'date-time' ? 'time' : 'text';
}

function fallbackOf({ type, default: value }: FieldSchema): string | undefined {
  if (value === undefined || typeof value === 'boolean' || type === 'object') return undefined;
  if (Array.isArray(value)) return value.length > 0 ? value.join(', ') : undefined;
  return String(value);
}

function decodeValue(parameter: Parameter, value: unknown): unknown {
  if (parameter.kind === 'switch') return value === true;
  if (parameter.kind === 'number') return decodeNumber(parameter, String(value));
  if (parameter.kind === 'pairs') return decodePairs(parameter, value as readonly string[]);
  if (parameter.kind !== 'list') return value;
  const items = value as readonly string[];
  // Only words from a closed set are split: text of people may have commas in it.
  const words = parameter.choices ? items.flatMap((item) => item.split(',')).map((word) => word.trim()) : items;
  const unknown = parameter.choices && words.find((word) => !parameter.choices?.includes(word));
  if (unknown !== undefined) throw wrong(parameter, `${JSON.stringify(unknown)} is none of ${parameter.choices?.join(', ')}`);
  return words;
}

function decodePairs(parameter: Parameter, items: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const at = item.indexOf('=');
      if (at > 0) return [item.slice(0, at), item.slice(at + 1)];
      throw wrong(parameter, `expected name=value, not ${JSON.stringify(item)}`);
    }),
  );
}

function decodeNumber(parameter: Parameter, text: string): number {
  if (/^-?\d+(\.\d+)?$/.test(text.trim())) return Number(text);
  throw wrong(parameter, `expected a number, not ${JSON.stringify(text)}`);
}

function readable({ choices }: Parameter, message: string): string {
  return choices ? `expected one of ${choices.join(', ')}` : message.charAt(0).toLowerCase() + message.slice(1);
}

function wrong(parameter: Parameter, problem: string): BoxError {
  return new BoxError('usage', `${spelled(parameter)}: ${problem}.`, { hint: 'Add --help to see what this command takes.' });
}

const bare = (arg: string): string => arg.replace(/\?$/, '');
