/** What drivers saw: parts of it, what it should have been, and what of it is the same in every run. */

/** The value at a JSON pointer; undefined when there is none. */
export function at(value: unknown, pointer: string): unknown {
  if (pointer === '') return value;
  return pointer
    .slice(1)
    .split('/')
    .reduce((inner, name) => (inner as Record<string, unknown> | null | undefined)?.[name], value);
}

/** With values in place of ${name}; a text that is nothing else takes the value as it is. */
export function withVariables(value: unknown, variables: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((one) => withVariables(one, variables));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withVariables(one, variables)]));
  const name = typeof value === 'string' ? /^\$\{(\w+)\}$/.exec(value)?.[1] : undefined;
  return name === undefined ? value : variables[name];
}

/** A line for each pointer whose value is another; a text that starts with ~ is a regular expression. */
export function misfits(value: unknown, wanted: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(wanted).flatMap(([pointer, want]) => {
    const got = at(value, pointer);
    const fits =
      typeof want === 'string' && want.startsWith('~')
        ? new RegExp(want.slice(1), 's').test(String(got))
        : JSON.stringify(got) === JSON.stringify(want);
    return fits ? [] : [`${pointer} is ${JSON.stringify(got)?.slice(0, 400)}, not ${JSON.stringify(want)}`];
  });
}

const kinds: readonly (readonly [RegExp, string])[] = [
  [/sk-[0-9a-f]{48}/g, '<key>'],
  [/key_[0-9a-f]{16}/g, '<key id>'],
  [/whsec_[A-Za-z0-9+/=]+/g, '<secret>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\bi[a-z0-9]{19}\b/g, '<sandbox>'],
  [/\bs[a-z0-9]{19}\b/g, '<snapshot>'],
  [/127\.0\.0\.1:\d+/g, '<address>'],
  [/\b(expires|signature|token)=[\w.-]+/g, '$1=<…>'],
];
/** Numbers that measure, and names that a machine gives itself. */
const measured = /^(seq|pid|ms|load|warm|cpu|host|queue|claim|sandbox|run|collect|record|program_id|size_bytes|next_cursor|.*_(ms|bytes))$/;

/** Without what differs from run to run. */
export function masked(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => masked(one, name));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([inner, one]) => [inner, masked(one, inner)]));
  if (value !== null && value !== undefined && measured.test(name) && !(typeof value === 'string' && value.startsWith('<')))
    return '<measured>';
  if (typeof value !== 'string') return value;
  return kinds.reduce((text, [pattern, kind]) => text.replace(pattern, kind), value);
}
