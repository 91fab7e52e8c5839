/** Aligned columns for people. */

import { oneLine, type Paint, type Tone } from './paint.ts';

export interface Column<T> {
  readonly title: string;
  value(item: T): string;
  tone?(item: T): Tone | undefined;
  readonly right?: boolean;
}

export interface TableOptions {
  readonly paint: Paint;
  /** The last column is cut to this many columns in all; undefined: never. */
  readonly width: number | undefined;
}

const gap = '  ';

export function formatTable<T>(items: readonly T[], columns: readonly Column<T>[], { paint, width }: TableOptions): string {
  const cells = items.map((item) => columns.map((column) => oneLine(column.value(item)) || '-'));
  const widths = columns.map((column, at) => Math.max(displayWidth(column.title), ...cells.map((row) => displayWidth(row[at] ?? ''))));
  const before = widths.slice(0, -1).reduce((sum, size) => sum + size + gap.length, 0);
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(20, width - before);
  const line = (row: readonly string[], toneAt: (at: number) => Tone | undefined): string =>
    row
      .map((text, at) => {
        const last = at === row.length - 1;
        const cut = last ? shorten(text, room) : text;
        const tone = toneAt(at);
        const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(cut)));
        const painted = tone ? paint(tone, cut) : cut;
        if (columns[at]?.right) return padding + painted;
        return last ? painted : painted + padding;
      })
      .join(gap)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    () => 'dim',
  );
  const body = cells.map((row, index) => line(row, (at) => columns[at]?.tone?.(items[index] as T)));
  return [head, ...body].join('\n');
}

/** `name   value` lines; empty values are left out. */
export function formatFacts(facts: readonly (readonly [name: string, value: string | undefined])[], paint: Paint): string {
  const shown = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined && fact[1] !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${paint('dim', name.padEnd(width))}${gap}${value}`).join('\n');
}

function shorten(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  let kept = '';
  for (const character of text) {
    if (displayWidth(kept + character) > room - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** Characters of Chinese, Japanese, Korean and emoji take two columns. */
function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (/\p{Mark}/u.test(character)) continue;
    width += (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xffdc && !isNarrow(code)) || code >= 0x1f300 ? 2 : 1;
  }
  return width;
}

const isNarrow = (code: number): boolean => code >= 0xd7a4 && code < 0xf900;
