/** Progress for who hears it from elsewhere: without secrets, cut to what is read, and said once. */

import type { WorkProgress, WorkStep } from '@skillbox/protocol';
import { createMask, maskedLine, plainLine } from './focus/mask.ts';
import type { Runtime } from './runtime.ts';

const longestLine = 500;
const mostTail = 12;

export function maskedProgress(tell: (progress: WorkProgress) => void): Runtime['progress'] {
  const mask = createMask();
  // Cut twice: looking for secrets takes long in long lines, and half of one is not known by its looks.
  const line = (text: string): string => maskedLine(mask, plainLine(text, longestLine + 200), longestLine);
  let last: string | undefined;
  const shown = ({ detail, tail, ...step }: WorkStep): WorkStep => ({
    ...step,
    detail: detail === null ? null : line(detail),
    tail: tail.slice(-mostTail).map(line),
  });
  return (text, step) => {
    const said = line(text);
    // Who waits says so many times a second.
    if (!step && said === last) return;
    last = said;
    tell({ time: new Date().toISOString(), text: said, step: step ? shown(step) : null });
  };
}
