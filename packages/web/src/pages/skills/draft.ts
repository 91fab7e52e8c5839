/** What somebody has typed into a form so far, and what it means. */

import type { Shape } from './schema-shape.ts';

/** Numbers and JSON stay as they were typed until they are read; undefined is a field that was left alone. */
export type Draft = undefined | string | boolean | readonly Draft[] | { readonly [name: string]: Draft };

export interface Reading {
  /** undefined: nothing was given. */
  readonly value: unknown;
  /** By JSON pointer. */
  readonly problems: Readonly<Record<string, string>>;
}

/** What the form starts with: a value, or what the schema proposes. */
export function draftOf(shape: Shape, value: unknown = shape.start): Draft {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? value : undefined;
    case 'number':
      return typeof value === 'number' ? String(value) : undefined;
    case 'flag':
      return typeof value === 'boolean' ? value : undefined;
    case 'choice': {
      const at = shape.options.findIndex((option) => same(option, value));
      return at < 0 ? undefined : String(at);
    }
    case 'list':
      return Array.isArray(value) ? value.map((each) => draftOf(shape.item, each)) : [];
    case 'group': {
      const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
      return Object.fromEntries(
        shape.fields.map(({ name, shape: inner }) => [name, Object.hasOwn(given, name) ? draftOf(inner, given[name]) : draftOf(inner)]),
      );
    }
    case 'json':
      return value === undefined ? undefined : JSON.stringify(value, null, 2);
  }
}

/** Patterns are left to the box: one of a hostile skill could hold the page for years. */
export function readDraft(shape: Shape, draft: Draft, required = true, path = ''): Reading {
  const wrong = (message: string): Reading => ({ value: undefined, problems: { [path]: message } });
  const fine = (value: unknown): Reading => ({ value, problems: {} });
  const absent = (): Reading => (required ? wrong('This is needed.') : fine(undefined));
  switch (shape.kind) {
    case 'text': {
      const text = typeof draft === 'string' ? draft : undefined;
      if (text === undefined || (text === '' && shape.least > 0)) return absent();
      if (text === '' && !required) return fine(undefined);
      if (text.length < shape.least) return wrong(`At least ${shape.least} characters.`);
      if (text.length > shape.most) return wrong(`At most ${shape.most} characters.`);
      return fine(text);
    }
    case 'number': {
      const text = typeof draft === 'string' ? draft.trim() : '';
      if (text === '') return absent();
      const value = Number(text);
      if (!Number.isFinite(value)) return wrong('A number, such as 1.5.');
      if (shape.whole && !Number.isInteger(value)) return wrong('A whole number.');
      if (value < shape.least) return wrong(`At least ${shape.least}.`);
      if (value > shape.most) return wrong(`At most ${shape.most}.`);
      return fine(value);
    }
    case 'flag':
      // A box that is not ticked is an answer, where one is needed.
      return typeof draft === 'boolean' ? fine(draft) : fine(required ? false : undefined);
    case 'choice':
      return typeof draft === 'string' && draft !== '' ? fine(shape.options[Number(draft)]) : absent();
    case 'json':
      return readJson(typeof draft === 'string' ? draft : '', absent, fine, wrong);
    case 'list':
      return readList(shape, Array.isArray(draft) ? draft : [], required, path);
    case 'group':
      return readGroup(shape, typeof draft === 'object' && !Array.isArray(draft) ? (draft as Record<string, Draft>) : {}, required, path);
  }
}

function readJson(text: string, absent: () => Reading, fine: (value: unknown) => Reading, wrong: (message: string) => Reading): Reading {
  if (text.trim() === '') return absent();
  try {
    return fine(JSON.parse(text));
  } catch (error) {
    return wrong(`This is not JSON: ${(error as Error).message}`);
  }
}

function readList(shape: Extract<Shape, { kind: 'list' }>, drafts: readonly Draft[], required: boolean, path: string): Reading {
  if (drafts.length === 0 && !required) return { value: undefined, problems: {} };
  const read = drafts.map((draft, at) => readDraft(shape.item, draft, true, `${path}/${at}`));
  const problems = Object.assign({}, ...read.map((each) => each.problems)) as Record<string, string>;
  if (drafts.length < shape.least) problems[path] = `At least ${shape.least}.`;
  if (drafts.length > shape.most) problems[path] = `At most ${shape.most}.`;
  return { value: read.map(({ value }) => value), problems };
}

function readGroup(
  shape: Extract<Shape, { kind: 'group' }>,
  drafts: Readonly<Record<string, Draft>>,
  required: boolean,
  path: string,
): Reading {
  const read = shape.fields.map((field) => ({
    field,
    ...readDraft(field.shape, drafts[field.name], field.required, pointer(path, field.name)),
  }));
  // One that may be left out is left out when nothing in it was touched.
  if (!required && shape.fields.every(({ name, shape: inner }) => isUntouched(inner, drafts[name])))
    return { value: undefined, problems: {} };
  const given = read.filter(({ value }) => value !== undefined).map(({ field, value }) => [field.name, value] as const);
  return { value: Object.fromEntries(given), problems: Object.assign({}, ...read.map(({ problems }) => problems)) };
}

const isUntouched = (shape: Shape, draft: Draft): boolean =>
  draft === undefined ||
  draft === '' ||
  (Array.isArray(draft) && draft.length === 0) ||
  (shape.kind === 'group' &&
    typeof draft === 'object' &&
    shape.fields.every(({ name, shape: inner }) => isUntouched(inner, (draft as Record<string, Draft>)[name])));

export const pointer = (path: string, name: string): string => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

const same = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
