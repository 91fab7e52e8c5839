/** One change of a sandbox at a time, in the order they were asked for. */

export interface Locks {
  /** Waits for what is under way with this id, then runs alone. */
  exclusive<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** Resolves when nothing is under way with it. */
  settled(id: string): Promise<void>;
  isHeld(id: string): boolean;
}

export function createLocks(): Locks {
  const last = new Map<string, Promise<void>>();
  return {
    async exclusive(id, work) {
      const before = last.get(id);
      let release = (): void => undefined;
      const promise = new Promise<void>((resolve) => {
        release = resolve;
      });
      last.set(id, promise);
      try {
        await before;
        return await work();
      } finally {
        if (last.get(id) === promise) last.delete(id);
        release();
      }
    },
    async settled(id) {
      for (let under = last.get(id); under; under = last.get(id)) await under;
    },
    isHeld: (id) => last.has(id),
  };
}
