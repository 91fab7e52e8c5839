/** Something that is done to the box at the press of a button: busy meanwhile, and a failure that can be shown. */

import { useCallback, useState } from 'react';
import { type Failure, failureOf } from './box.ts';
import { noteFailure } from './reachable.ts';

export interface Act<A extends readonly unknown[]> {
  readonly busy: boolean;
  readonly failure: Failure | undefined;
  /** Resolves to whether it went well. */
  run(...args: A): Promise<boolean>;
  clear(): void;
}

export function useAct<A extends readonly unknown[]>(act: (...args: A) => Promise<unknown>): Act<A> {
  const [state, setState] = useState<{ busy: boolean; failure?: Failure }>({ busy: false });
  const run = async (...args: A): Promise<boolean> => {
    setState({ busy: true });
    try {
      await act(...args);
      setState({ busy: false });
      return true;
    } catch (error) {
      noteFailure(error);
      setState({ busy: false, failure: failureOf(error) });
      return false;
    }
  };
  const clear = useCallback(() => setState({ busy: false }), []);
  return { busy: state.busy, failure: state.failure, run, clear };
}
