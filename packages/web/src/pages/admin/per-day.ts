import type { CreditEntry } from '@skillbox/sdk';

const dayMs = 86_400_000;
const mostDays = 30;

/** Granted and spent on each day from the first entry on, thirty days at most, days without any among them. */
export function perDay(entries: readonly CreditEntry[], now = Date.now()): { label: string; values: [number, number] }[] {
  const day = (time: string | number): number => Math.floor(new Date(time).getTime() / dayMs);
  const last = day(now);
  const first = Math.max(last - mostDays + 1, Math.min(last - 6, ...entries.map(({ time }) => day(time))));
  const days = Array.from({ length: last - first + 1 }, (_, at) => ({
    label: new Date((first + at) * dayMs).toISOString().slice(0, 10),
    values: [0, 0] as [number, number],
  }));
  for (const { time, kind, amount } of entries) {
    const values = days[day(time) - first]?.values;
    if (values && kind === 'grant') values[0] += amount;
    if (values && kind === 'settle') values[1] += amount;
  }
  return days;
}
