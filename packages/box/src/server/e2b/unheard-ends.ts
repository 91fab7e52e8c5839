/**
 * Which ends of programs somebody has heard. This protocol knows running programs only; one that ended while nobody listened,
 * as when the server was away, can be joined once more: its output and its exit code would be lost otherwise.
 */

import type { Use } from './use.ts';

const remembered = 10_000;
const heard = new WeakMap<object, Set<string>>();

export function noteHeard({ box, sandbox }: Use, program: number): void {
  const ends = heard.get(box) ?? new Set();
  heard.set(box, ends);
  ends.add(`${sandbox.id}/${program}`);
  const [oldest] = ends;
  if (ends.size > remembered && oldest !== undefined) ends.delete(oldest);
}

export const wasHeard = ({ box, sandbox }: Use, program: number): boolean => heard.get(box)?.has(`${sandbox.id}/${program}`) ?? false;
