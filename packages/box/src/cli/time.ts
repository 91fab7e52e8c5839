const steps = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** `5 minutes ago`; the day itself when it is more than a month away. */
export function ago(time: string, now = Date.now()): string {
  const passed = now - Date.parse(time);
  if (passed > 30 * 86_400_000) return time.slice(0, 10);
  for (const [unit, size] of steps) {
    const count = Math.floor(passed / size);
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}
