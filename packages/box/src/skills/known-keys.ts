/** The keys of SKILL.md, and the one an author probably meant. */

/** What Skillbox adds to the public format; one of them marks a skill as made for it. */
export const ownKeys = [
  'version',
  'lang',
  'entrypoint',
  'image',
  'timeout',
  'resources',
  'preload',
  'env',
  'input_schema',
  'output_schema',
  'mode',
] as const;

/** The public Agent Skills format. */
export const publicKeys = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'] as const;

/** Keys that other agents read; no reason to warn. */
const foreignKeys = new Set(
  'argument-hint arguments user-invocable disable-model-invocation model effort context agent hooks paths shell when_to_use author tags category'.split(
    ' ',
  ),
);

export const isKnownKey = (key: string): boolean => known.has(key) || foreignKeys.has(key);

/** The known key nearest to a misspelt one, or undefined when none is near. */
export function nearestKey(key: string, keys: readonly string[] = [...known]): string | undefined {
  const wanted = plain(key);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of keys) {
    const distance = editDistance(wanted, plain(candidate));
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

const known = new Set<string>([...publicKeys, ...ownKeys]);

const plain = (key: string): string => key.toLowerCase().replace(/[-_ ]/g, '').slice(0, 40);

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
