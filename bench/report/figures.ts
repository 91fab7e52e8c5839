/** How figures are written: short, with the digits that count. */

import type { Ratio } from '../measure/samples.ts';

/** Three digits: 0.152, 3.42, 41.7, 386. */
export function short(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 3));
}

export const ms = (value: number): string => `${short(value)} ms`;

export const times = (value: number): string => `${short(value)}×`;

/** With the interval that 95 of 100 resampled medians fall into. */
export const withInterval = ({ value, low, high }: Ratio): string => `${times(value)} (${short(low)}–${short(high)})`;

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}
