/** Who uses which sandbox right now, and when it was last used: in memory, since every exec and every file would write it. */

export interface Activity {
  /** Counts as used until the returned function is called; calling it again does nothing. */
  begin(id: string): () => void;
  inUse(id: string): boolean;
  /** Milliseconds since the epoch; undefined when not used since this server started. */
  lastUse(id: string): number | undefined;
  touch(id: string): void;
  forget(id: string): void;
  /** What was used since the last call, for the record. */
  takeDirty(): Map<string, number>;
  nextProgramId(id: string): number;
  /** After a restart: programs with smaller ids may still run. */
  raiseProgramId(id: string, least: number): void;
  knowsPrograms(id: string): boolean;
}

export function createActivity(): Activity {
  const uses = new Map<string, number>();
  const lastUses = new Map<string, number>();
  const programs = new Map<string, number>();
  let dirty = new Map<string, number>();
  const touch = (id: string): void => {
    const now = Date.now();
    lastUses.set(id, now);
    dirty.set(id, now);
  };
  return {
    begin(id) {
      uses.set(id, (uses.get(id) ?? 0) + 1);
      touch(id);
      let over = false;
      return () => {
        if (over) return;
        over = true;
        const left = (uses.get(id) ?? 1) - 1;
        if (left > 0) uses.set(id, left);
        else uses.delete(id);
        touch(id);
      };
    },
    inUse: (id) => uses.has(id),
    lastUse: (id) => lastUses.get(id),
    touch,
    forget(id) {
      lastUses.delete(id);
      programs.delete(id);
      dirty.delete(id);
    },
    takeDirty() {
      const taken = dirty;
      dirty = new Map();
      return taken;
    },
    nextProgramId(id) {
      const next = (programs.get(id) ?? 0) + 1;
      programs.set(id, next);
      return next;
    },
    raiseProgramId(id, least) {
      programs.set(id, Math.max(programs.get(id) ?? 0, least));
    },
    knowsPrograms: (id) => programs.has(id),
  };
}
