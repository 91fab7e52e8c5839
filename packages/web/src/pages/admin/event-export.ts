/** Events as files that other programs read. */

import type { BoxEvent } from '@skillbox/sdk';

const columns: readonly (readonly [string, (event: BoxEvent) => string])[] = [
  ['seq', ({ seq }) => String(seq)],
  ['time', ({ time }) => time],
  ['tenant', ({ tenant }) => tenant],
  ['actor_kind', ({ actor }) => actor.kind],
  ['actor_id', ({ actor }) => actor.id],
  ['host', ({ host }) => host],
  ['type', ({ type }) => type],
  ['subject_type', ({ subject }) => subject.type],
  ['subject_id', ({ subject }) => subject.id],
  ['data', ({ data }) => JSON.stringify(data)],
];

export function toCsv(events: readonly BoxEvent[]): string {
  const rows = [columns.map(([name]) => name), ...events.map((event) => columns.map(([, read]) => cell(read(event))))];
  return rows.map((row) => `${row.join(',')}\r\n`).join('');
}

/** A spreadsheet takes a text that begins so for a formula: names come from others, so it gets a sign before it. */
const cell = (text: string): string => {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
};
