/**
 * How pools are filled: off the request's path, the neediest first, a few at a time, and with growing rests after one could not be made.
 * Whoever has pools says which one is next and whether other work comes first.
 */

/** What filling keeps of each pool. */
export interface Filled {
  making: number;
  /** Not before then, after one could not be made. */
  restUntil: number;
  failures: number;
}

export interface FillingOptions<P extends Filled> {
  readonly mostMaking: number;
  /** Of those that may be filled now; undefined when none lacks anything. */
  next(): P | undefined;
  /** Whether other work comes first, when it has waited so long already. */
  mustWait(pool: P, waitedMs: number): boolean;
  /** Makes one and puts it where it belongs. */
  make(pool: P): Promise<void>;
  onTrouble(message: string): void;
}

export interface Filling {
  /** Of all pools. */
  readonly making: number;
  /** Looks soon; a look that is due already stays. */
  soon(): void;
  /** Looks in so long, and not before. */
  in(ms: number): void;
  /** What takes its time and must be over before the end. */
  track(work: Promise<unknown>): void;
  /** Makes no more, and waits for what is under way. */
  close(): Promise<void>;
}

const soonMs = 5;
const longestRestMs = 60_000;

export const unfilled = (): Filled => ({ making: 0, restUntil: 0, failures: 0 });
export const isResting = ({ restUntil }: Filled): boolean => Date.now() < restUntil;

export function createFilling<P extends Filled>({ mostMaking, next, mustWait, make, onTrouble }: FillingOptions<P>): Filling {
  const underWay = new Set<Promise<unknown>>();
  let making = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const track = (work: Promise<unknown>): void => {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  };

  const makeOne = async (pool: P): Promise<void> => {
    pool.making += 1;
    making += 1;
    try {
      await make(pool);
      pool.failures = 0;
    } catch (error) {
      pool.failures += 1;
      pool.restUntil = Date.now() + Math.min(longestRestMs, 500 * 2 ** pool.failures);
      if (!closed) onTrouble(`a sandbox could not be made ready ahead: ${(error as Error).message}`);
    } finally {
      pool.making -= 1;
      making -= 1;
      look(soonMs);
    }
  };

  const look = (afterMs: number): void => {
    if (closed || timer) return;
    const since = performance.now();
    const later = (): void => {
      timer = undefined;
      while (!closed && making < mostMaking) {
        const pool = next();
        if (!pool) return;
        if (mustWait(pool, performance.now() - since)) {
          timer = setTimeout(later, soonMs);
          return;
        }
        track(makeOne(pool));
      }
    };
    timer = setTimeout(later, afterMs);
  };

  return {
    get making() {
      return making;
    },
    soon: () => look(soonMs),
    in(ms) {
      clearTimeout(timer);
      timer = undefined;
      look(ms);
    },
    track,
    async close() {
      closed = true;
      clearTimeout(timer);
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
