/** A process is named by its pid and its start time: a pid alone may long belong to somebody else. */

import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as /proc tells it. */
  readonly startTime: string;
}

/** A process and where it belongs. */
export interface ProcessEntry extends ProcessIdentity {
  /** Ended, and only waits for its parent to hear of it. */
  readonly zombie: boolean;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

export function identify(pid: number): ProcessIdentity | undefined {
  const entry = readProcess(pid);
  return entry && !entry.zombie ? { pid, startTime: entry.startTime } : undefined;
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startTime === identity.startTime;
}

/** Zombies too: a child that ended at once still has a name until its parent has heard of its end. */
export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything, blanks and parentheses too: fields count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      pid,
      startTime: fields[19] ?? '',
      zombie: fields[0] === 'Z' || fields[0] === 'X',
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
    };
  } catch {
    // No such process.
    return undefined;
  }
}
