/** Something of the box, loaded, kept fresh, and loaded anew when the box is back. What was there stays visible meanwhile. */

import { APIError } from '@skillbox/sdk';
import { useCallback, useEffect, useRef, useState } from 'react';
import { type Failure, failureOf, useBox } from './box.ts';
import { noteFailure, useReturns } from './reachable.ts';

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly failure: Failure | undefined;
  readonly loading: boolean;
  reload(): void;
}

interface Options {
  /** Loads again after so many milliseconds, while somebody looks. */
  readonly every?: number | undefined;
}

/** `key` says what is loaded: another key forgets what was there. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>, { every }: Options = {}): Loaded<T> {
  const { signOut } = useBox();
  const returns = useReturns();
  const [state, setState] = useState<{ key: string; data?: T; failure?: Failure; loading: boolean }>({ key, loading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  // biome-ignore lint/correctness/useExhaustiveDependencies: turn and returns stand for "once more".
  useEffect(() => {
    const end = new AbortController();
    setState((before) => (before.key === key ? { ...before, loading: true } : { key, loading: true }));
    latest
      .current(end.signal)
      .then((data) => setState({ key, data, loading: false }))
      .catch((error: unknown) => {
        if (end.signal.aborted) return;
        if (error instanceof APIError && error.status === 401) return signOut('This key does not work any more.');
        noteFailure(error);
        setState((before) => ({ ...before, key, failure: failureOf(error), loading: false }));
      });
    return () => end.abort();
  }, [key, turn, returns]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  useInterval(reload, every);
  const current: Partial<typeof state> = state.key === key ? state : {};
  return { data: current.data, failure: current.failure, loading: current.loading ?? true, reload };
}

/** Not while the tab is hidden; at once when it is shown again. */
function useInterval(act: () => void, every: number | undefined): void {
  useEffect(() => {
    if (every === undefined) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && act(), every);
    const shown = (): void => {
      if (document.visibilityState === 'visible') act();
    };
    document.addEventListener('visibilitychange', shown);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }, [act, every]);
}
