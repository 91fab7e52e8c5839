/**
 * Nothing that looks like a secret reaches a file that agents read. Context is made of names and paths; log lines, notes and commit
 * messages are written by others, so they come through here: known values by their letters, the rest by their looks.
 */

import type { Graph } from '../graph.ts';
import { readAt } from '../place.ts';
import { keyWords, type Pattern, secretForms, secretWords, withoutForms } from '../secret-looks.ts';

export type Mask = (text: string) => string;

const stars = '***';

/** Wider than elsewhere: these are names of others, and a value that is masked for nothing costs a reader little. */
const secretName = new RegExp(`${secretWords}|pass|pwd|${keyWords}|[-_]key$|^key$|auth|cookie|signature|dsn|jwt`, 'i');
export const isSecretName = (name: string): boolean => secretName.test(name);

/** Of values that env files and env hold: what is masked by its letters wherever it appears. */
export function knownSecrets(graph: Pick<Graph, 'services' | 'tasks' | 'bridges' | 'envFiles'>): string[] {
  const declared = [...graph.services, ...graph.tasks, ...graph.bridges].flatMap(({ env }) => Object.entries(env));
  const written = graph.envFiles.flatMap(({ place }) => entriesOf(readAt(place)?.toString('utf8') ?? ''));
  const values = [...declared, ...written].filter(([name, value]) => isSecretValue(name, value)).map(([, value]) => value);
  // The longest first: one may be a part of another.
  return [...new Set(values)].sort((one, other) => other.length - one.length || (one < other ? -1 : 1));
}

export function createMask(known: readonly string[] = []): Mask {
  return (text) => looks(known.reduce((rest, value) => rest.replaceAll(value, stars), text));
}

function isSecretValue(name: string, value: string): boolean {
  if (isSecretName(name)) return value.length >= 4;
  if (value.length < 8) return false;
  if (/^[\w+.-]+:\/\/[^/\s]*@/.test(value)) return true;
  if (!/\d/.test(value) || !/[a-z]/i.test(value)) return false;
  if (/^(\/|\.\/|~\/)/.test(value) || /^[\w.-]+:\d+$/.test(value)) return false;
  return URL.canParse(value) ? value.includes('?') : !/^[a-z0-9.-]+\.[a-z]{2,}$/.test(value);
}

/** `NAME=value` lines, with or without export and quotes. */
function entriesOf(text: string): [name: string, value: string][] {
  return [...text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/gm)].map(([, name = '', value = '']) => [
    name,
    /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value,
  ]);
}

const patterns: readonly Pattern[] = [
  ...secretForms(stars),
  // Only here, where the words of others go to agents. Long and without sense to a reader: hex, and what mixes digits and letters of both cases.
  [/\b[0-9a-f]{32,}\b/gi, stars],
  [/(?<![\w+/=-])(?=[A-Za-z0-9+_=-]*[a-z])(?=[A-Za-z0-9+_=-]*[A-Z])(?=[A-Za-z0-9+_=-]*\d)[A-Za-z0-9+_=-]{28,}/g, stars],
];

const looks: Mask = (text) => withoutForms(text, patterns);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const sequences = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Masked before it is cut: half a secret is not known by its looks. */
export const maskedLine = (mask: Mask, text: string, most = 300): string => plainLine(mask(plainLine(text, 4000)), most);

/** One line that moves no cursor and hides nothing, cut where it is too long to be read. */
export function plainLine(text: string, most = 300): string {
  const line = text.replace(sequences, '').replace(controls, ' ').replace(/ {2,}/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
