/** What a form for a JSON Schema consists of. What has no form becomes JSON to type; the box has the last word on every value. */

export type Schema = Readonly<Record<string, unknown>>;

interface Common {
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** Given by the schema: what the form starts with. */
  readonly start: unknown;
}

export type Shape = Common &
  (
    | { readonly kind: 'text'; readonly long: boolean; readonly least: number; readonly most: number }
    | { readonly kind: 'number'; readonly whole: boolean; readonly least: number; readonly most: number; readonly step: number | undefined }
    | { readonly kind: 'flag' }
    | { readonly kind: 'choice'; readonly options: readonly unknown[] }
    | { readonly kind: 'list'; readonly item: Shape; readonly least: number; readonly most: number }
    | { readonly kind: 'group'; readonly fields: readonly Member[] }
    | { readonly kind: 'json' }
  );

export interface Member {
  readonly name: string;
  readonly required: boolean;
  readonly shape: Shape;
}

/** Deeper than this, a form is no help any more; also the end of schemas that contain themselves. */
const deepest = 5;
const mostFields = 60;
const mostOptions = 200;

export function shapeOf(schema: Schema | null, root: Schema | null = schema, depth = 0): Shape {
  const whole = resolved(schema ?? {}, root ?? {}, 0);
  const common: Common = {
    title: textOr(whole.title),
    description: textOr(whole.description),
    start: whole.default ?? (Array.isArray(whole.examples) ? whole.examples[0] : undefined),
  };
  const json = (): Shape => ({ ...common, kind: 'json' });
  if (depth > deepest) return json();
  const options = optionsOf(whole);
  if (options) return options.length > 0 && options.length <= mostOptions ? { ...common, kind: 'choice', options } : json();
  switch (typeOf(whole)) {
    case 'string': {
      const most = numberOr(whole.maxLength, Number.POSITIVE_INFINITY);
      return { ...common, kind: 'text', long: isLong(whole, most), least: numberOr(whole.minLength, 0), most };
    }
    case 'number':
    case 'integer':
      return {
        ...common,
        kind: 'number',
        whole: typeOf(whole) === 'integer',
        least: numberOr(whole.minimum, Number.NEGATIVE_INFINITY),
        most: numberOr(whole.maximum, Number.POSITIVE_INFINITY),
        step: typeof whole.multipleOf === 'number' ? whole.multipleOf : undefined,
      };
    case 'boolean':
      return { ...common, kind: 'flag' };
    case 'array': {
      if (!isSchema(whole.items) || whole.prefixItems !== undefined) return json();
      const item = shapeOf(whole.items, root, depth + 1);
      return {
        ...common,
        kind: 'list',
        item,
        least: numberOr(whole.minItems, 0),
        most: numberOr(whole.maxItems, Number.POSITIVE_INFINITY),
      };
    }
    case 'object': {
      const properties = isSchema(whole.properties) ? Object.entries(whole.properties) : [];
      if (properties.length === 0 || properties.length > mostFields) return json();
      const required = Array.isArray(whole.required) ? whole.required : [];
      const fields = properties.map(([name, inner]) => ({
        name,
        required: required.includes(name),
        shape: shapeOf(isSchema(inner) ? inner : {}, root, depth + 1),
      }));
      return { ...common, kind: 'group', fields };
    }
    default:
      return json();
  }
}

/** References within the schema are followed; what only adds null is the other one. */
function resolved(schema: Schema, root: Schema, hops: number): Schema {
  if (hops > 10) return {};
  if (typeof schema.$ref === 'string') {
    const { $ref, ...rest } = schema;
    return resolved({ ...(target($ref as string, root) ?? {}), ...rest }, root, hops + 1);
  }
  const some = [schema.anyOf, schema.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
  const real = some?.filter((each): each is Schema => isSchema(each) && each.type !== 'null');
  if (real?.length === 1 && real[0]) {
    const { anyOf: _any, oneOf: _one, ...rest } = schema;
    return resolved({ ...real[0], ...rest }, root, hops + 1);
  }
  return schema;
}

function target(ref: string, root: Schema): Schema | undefined {
  if (!ref.startsWith('#')) return undefined;
  let at: unknown = root;
  for (const part of ref.slice(1).split('/').filter(Boolean)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = isSchema(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isSchema(at) ? at : undefined;
}

function optionsOf(schema: Schema): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  const some = [schema.anyOf, schema.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
  if (some?.length && some.every((each) => isSchema(each) && Object.hasOwn(each, 'const')))
    return some.map((each) => (each as Schema).const);
  return undefined;
}

function typeOf({ type, properties }: Schema): string | undefined {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => each !== 'null' && each !== undefined);
  if (types.length === 1) return String(types[0]);
  return types.length === 0 && isSchema(properties) ? 'object' : undefined;
}

/** May have several lines. */
const isLong = ({ format, pattern }: Schema, most: number): boolean => format === undefined && pattern === undefined && most > 200;

export const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOr = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const numberOr = (value: unknown, other: number): number => (typeof value === 'number' ? value : other);
