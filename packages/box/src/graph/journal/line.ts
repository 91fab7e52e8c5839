/** A line of the journal: `YYYY-MM-DDTHH:MM:SS type subject {json}`, in UTC. */

import type { Activity } from '@skillbox/protocol';
import { redact, redactText } from './redact.ts';

const mostBytes = 8 * 1024;
const mostSubject = 300;
const pattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d) ([a-z][a-z0-9._-]*) (\S+) (\{.*\})$/;
/** Beyond what JSON escapes: what moves a terminal's cursor or counts as the end of a line elsewhere. */
const unseen = /[\u007f-\u009f\u2028\u2029\ufeff]/g;

export function formatLine(time: Date, type: string, subject: string, data: Readonly<Record<string, unknown>>): string {
  if (!/^[a-z][a-z0-9._-]{0,99}$/.test(type)) throw new TypeError(`Not a type of the journal: ${JSON.stringify(type)}`);
  const head = `${time.toISOString().slice(0, 19)} ${type} ${asWord(subject)} `;
  return head + asJson(data, mostBytes - Buffer.byteLength(head));
}

/** undefined for what is not a line of the journal: half of one, or something somebody else wrote. */
export function parseLine(line: string): Activity | undefined {
  const [, time, type, subject, json] = pattern.exec(line) ?? [];
  if (time === undefined || type === undefined || subject === undefined || json === undefined) return undefined;
  const at = new Date(`${time}Z`);
  const data = parsed(json);
  const word = decoded(subject);
  if (Number.isNaN(at.getTime()) || data === undefined || word === undefined) return undefined;
  return { time: at.toISOString(), type, subject: word, data };
}

/** Without blanks, so that the columns can be told apart. */
function asWord(subject: string): string {
  const short = wellFormed(redactText(subject).slice(0, mostSubject));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through.
  return short.replace(/[\s%\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/g, (character) => encodeURIComponent(character)) || '-';
}

/** What it says is not lost when it is too long: strings become shorter and lists end earlier, until it fits. */
function asJson(data: Readonly<Record<string, unknown>>, most: number): string {
  // Cut first: looking for secrets in something very long would take long.
  const clean = redact(shortened(data, most));
  for (let longest = most; longest >= 16; longest = Math.floor(longest / 2)) {
    const text = escaped(JSON.stringify(shortened(clean, longest)));
    if (Buffer.byteLength(text) <= most) return text;
  }
  return '{"cut":true}';
}

/** Half a character cannot be written as UTF-8. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

function escaped(json: string): string {
  return json.replace(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function shortened(value: unknown, longest: number): unknown {
  if (typeof value === 'string') return value.length <= longest ? value : wellFormed(`${value.slice(0, longest)}…`);
  if (Array.isArray(value)) return value.slice(0, longest).map((inner) => shortened(inner, longest));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.slice(0, longest), shortened(inner, longest)]));
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    // Half a line.
    return undefined;
  }
}

function decoded(subject: string): string | undefined {
  try {
    return decodeURIComponent(subject);
  } catch {
    // Not written by us.
    return undefined;
  }
}
