/** Which file and line each value of the graph came from. */

import type { Path } from '../manifest/finding.ts';
import { type Entries, type Entry, originOf, sectionNames } from './declared.ts';
import type { Origin } from './graph.ts';
import type { Variables } from './variables.ts';

export function traceOrigins(entries: Entries, variables: Variables): Map<string, Origin> {
  const found = new Map<string, Origin>();
  for (const [section, name] of Object.entries(sectionNames) as [keyof Entries, string][])
    for (const entry of entries[section]) traceEntry(found, `${name}.${entry.item.id}`, entry);
  for (const [name, origin] of variables.origins()) found.set(`variables.${name}`, origin);
  return found;
}

function traceEntry(found: Map<string, Origin>, name: string, { source, path, item }: Entry): void {
  // What was written, not what the schema filled in.
  const written = valueAt(source.document?.value, path);
  if (path.length === 0 || written === undefined) {
    found.set(name, item.origin);
    return;
  }
  const walk = (at: string, keys: Path, value: unknown): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      found.set(at, originOf(source, keys));
      return;
    }
    for (const [key, inner] of Object.entries(value)) walk(`${at}.${key}`, [...keys, key], inner);
  };
  walk(name, path, written);
}

export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const part of path) at = typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[part] : undefined;
  return at;
}
