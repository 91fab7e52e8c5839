/** Schemas of skills as schemas of tools, whose arguments are always an object. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ToolInput {
  readonly schema: JsonSchema;
  /** The input of the skill, from the arguments of the tool. */
  unwrap(args: Readonly<Record<string, unknown>>): unknown;
}

export function toolInput(schema: JsonSchema | null): ToolInput {
  if (schema === null) return { schema: { type: 'object' }, unwrap: (args) => args };
  const own = withoutHeaderMarks(schema) as JsonSchema;
  if (takesObjects(own)) return { schema: { ...own, type: 'object' }, unwrap: (args) => args };
  // With an id of its own, so that what it refers to by # stays within it.
  const input = typeof own.$id === 'string' ? own : { $id: 'skillbox:input', ...own };
  return {
    schema: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
    unwrap: ({ input: given }) => given,
  };
}

/** Before 2026-07-28 results were objects; undefined when this one cannot be told to such a client. */
export function toolOutput(schema: JsonSchema | null, modern: boolean): JsonSchema | undefined {
  if (schema === null || (!modern && schema.type !== 'object')) return undefined;
  return withoutHeaderMarks(schema) as JsonSchema;
}

const takesObjects = ({ type }: JsonSchema): boolean =>
  type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));

/** They would make clients send fields as headers of HTTP, which nothing here reads. A property of that name is an object, and stays. */
function withoutHeaderMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHeaderMarks);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name, item]) => name !== 'x-mcp-header' || isObject(item));
  return Object.fromEntries(kept.map(([name, item]) => [name, withoutHeaderMarks(item)]));
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);
