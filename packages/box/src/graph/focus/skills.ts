import type { Graph } from '../graph.ts';
import { readAt } from '../place.ts';

/** Names from the locks of the skill sets: what sync installed last. */
export function installedSkills({ skills }: Graph): string[] {
  const names = skills.flatMap(({ lock }) => {
    const text = readAt(lock)?.toString('utf8');
    return text === undefined ? [] : namesOf(text);
  });
  return [...new Set(names)].sort();
}

function namesOf(lock: string): string[] {
  try {
    const { skills } = JSON.parse(lock) as { skills?: unknown };
    return Array.isArray(skills) ? skills.flatMap(({ name }: { name?: unknown }) => (typeof name === 'string' ? [name] : [])) : [];
  } catch {
    // Somebody wrote it by hand, or it is being made: doctor and status say so, the context just names none.
    return [];
  }
}
