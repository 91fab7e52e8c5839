/** Numbers and times as people read them. */

export function formatMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms === 0) return '0 ms';
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 3600 ? inTwo(seconds, 'min', 's') : inTwo(Math.floor(seconds / 60), 'h', 'min');
}

/** The smaller unit, sixty of which are a larger one, is left out where there is none of it. */
function inTwo(smaller: number, large: string, small: string): string {
  const rest = smaller % 60;
  return `${Math.floor(smaller / 60)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let at = 0;
  for (; value >= 1024 && at < units.length - 1; at += 1) value /= 1024;
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

export const formatPercent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

export function formatAgo(time: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 5) return 'now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** Made once: to make one takes longer than to write a hundred times with it. */
const count = new Intl.NumberFormat('en');
const clockParts = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const clock = new Intl.DateTimeFormat('en-GB', clockParts);
const dayAndClock = new Intl.DateTimeFormat('en-GB', { year: 'numeric', month: 'short', day: '2-digit', ...clockParts });

export const formatCount = (value: number): string => count.format(value);

/** In the reader's time zone, to the second. */
export const formatTime = (time: string): string => dayAndClock.format(new Date(time));

export const formatClock = (time: string): string => clock.format(new Date(time));
