/** The list as far as somebody has looked: newest first, more as they scroll, and what is new when it happens. */

import type { ExecutionList, ExecutionSummary } from '@skillbox/sdk';
import { useCallback, useEffect, useRef, useState } from 'react';
import { type Failure, failureOf, useBox } from '../../box/box.ts';
import { noteFailure, useReturns } from '../../box/reachable.ts';

const pageSize = 200;

export interface Executions {
  readonly items: readonly ExecutionSummary[];
  readonly loading: boolean;
  readonly complete: boolean;
  readonly failure: Failure | undefined;
  /** Loads the page after the last. */
  more(): void;
  /** Loads what is newest, and keeps the rest. */
  refresh(): void;
}

interface State {
  readonly key: string;
  readonly items: readonly ExecutionSummary[];
  readonly cursor: string | null | undefined;
  readonly failure?: Failure;
}

export function useExecutions(filter: ExecutionList): Executions {
  const { client, tenant } = useBox();
  const returns = useReturns();
  const key = JSON.stringify([tenant, filter]);
  const [state, setState] = useState<State>({ key, items: [], cursor: undefined });
  const [loading, setLoading] = useState(true);
  const busy = useRef(false);
  const current: State = state.key === key ? state : { key, items: [], cursor: undefined };
  const latest = useRef(current);
  latest.current = current;
  const query = useRef(filter);
  query.current = filter;

  const load = useCallback(
    async (cursor: string | undefined, signal?: AbortSignal): Promise<void> => {
      if (busy.current) return;
      busy.current = true;
      setLoading(true);
      const asked = key;
      try {
        const page = await client.executions.list(
          { ...query.current, limit: pageSize, ...(cursor !== undefined && { cursor }) },
          { ...(signal && { signal }) },
        );
        setState((before) => {
          const old = before.key === asked ? before : { key: asked, items: [], cursor: undefined };
          if (cursor !== undefined) return { key: asked, items: [...old.items, ...page.items], cursor: page.next_cursor };
          return { key: asked, ...withNewest(old, page.items, page.next_cursor) };
        });
      } catch (error) {
        if (signal?.aborted) return;
        noteFailure(error);
        setState((before) => ({
          ...(before.key === asked ? before : { key: asked, items: [], cursor: undefined }),
          failure: failureOf(error),
        }));
      } finally {
        busy.current = false;
        setLoading(false);
      }
    },
    [client, key],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: once more when the box is back.
  useEffect(() => {
    const end = new AbortController();
    busy.current = false;
    void load(undefined, end.signal);
    return () => end.abort();
  }, [load, returns]);

  const more = useCallback(() => {
    const { cursor } = latest.current;
    if (typeof cursor === 'string') void load(cursor);
  }, [load]);
  const refresh = useCallback(() => void load(undefined), [load]);
  return { items: current.items, failure: current.failure, complete: current.cursor === null, loading, more, refresh };
}

/** A first page over what is there: it replaces what it covers. What was read below it stays, with the cursor that goes on from there. */
function withNewest(
  old: Pick<State, 'items' | 'cursor'>,
  newest: readonly ExecutionSummary[],
  cursor: string | null,
): Pick<State, 'items' | 'cursor'> {
  const last = newest.at(-1);
  const joint = last ? old.items.findIndex(({ execution_id }) => execution_id === last.execution_id) : -1;
  // So much is new that the two do not meet: then only what is newest is sure to be whole.
  if (joint < 0 || cursor === null) return { items: newest, cursor };
  return { items: [...newest, ...old.items.slice(joint + 1)], cursor: old.items.length > joint + 1 ? (old.cursor ?? null) : cursor };
}
