/** Names of what is being made or removed beside its place, by which process: who is killed leaves them, and the next one knows them. */

export const draftName = (name: string, what: 'new' | 'old'): string => `.${name}.${process.pid}.skillbox-${what}`;

export interface Draft {
  /** What it is to become, or was. */
  readonly name: string;
  readonly pid: number;
}

export function draftOf(entry: string): Draft | undefined {
  const [, name, pid] = /^\.(.+)\.(\d+)\.skillbox-(?:new|old)$/s.exec(entry) ?? [];
  return name === undefined ? undefined : { name, pid: Number(pid) };
}

/** Whether the one that made it lives, or another has its number: then it is left. */
export function hasMaker({ pid }: Draft): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
