/** Sizes and times as people write them: 256Mi, 2m. */

const sizeUnits: Record<string, number> = {
  '': 1,
  B: 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};
const timeUnits: Record<string, number> = { ms: 1, s: 1e3, m: 60e3, h: 3600e3 };

/** Bytes of `256Mi`, `50MB`, `1024`; undefined when it is not a size. */
export function parseSize(text: string | number): number | undefined {
  if (typeof text === 'number') return Number.isFinite(text) && text >= 0 ? Math.floor(text) : undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kKMGT]?i?)B?\s*$/.exec(text);
  const unit = match && sizeUnits[match[2] ?? ''];
  return match && unit ? Math.floor(Number(match[1]) * unit) : undefined;
}

/** Milliseconds of `90s`, `1m30s`, `500ms` or a number of seconds; undefined when it is not a time. */
export function parseDuration(text: string | number): number | undefined {
  if (typeof text === 'number') return Number.isFinite(text) && text >= 0 ? Math.round(text * 1000) : undefined;
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed) * 1000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(trimmed)) return undefined;
  let total = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) total += Number(amount) * (timeUnits[unit ?? ''] ?? 0);
  return Math.round(total);
}

export function formatSize(bytes: number): string {
  for (const [unit, size] of [
    ['Gi', 2 ** 30],
    ['Mi', 2 ** 20],
    ['Ki', 2 ** 10],
  ] as const) {
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))}${unit}`;
  }
  return `${bytes}B`;
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${Number((ms / 1000).toFixed(1))}s`;
  return seconds % 60 ? `${Math.floor(seconds / 60)}m${seconds % 60}s` : `${seconds / 60}m`;
}
