/** A list that comes page by page: what is there stays, and more follows it. */

import type { Page } from '@skillbox/sdk';
import { useState } from 'react';
import type { Failure } from './box.ts';
import { useAct } from './use-act.ts';
import { type Loaded, useLoad } from './use-load.ts';

export interface MoreLoaded<T> extends Loaded<readonly T[]> {
  /** Loads the next page; undefined when there is none. */
  readonly more: (() => void) | undefined;
  /** Why the next page did not come. */
  readonly moreFailure: Failure | undefined;
}

export function useMore<T>(
  key: string,
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<T>>,
  options: { readonly every?: number | undefined } = {},
): MoreLoaded<T> {
  const first = useLoad(key, (signal) => load(undefined, signal), options);
  const [rest, setRest] = useState<{ after: Page<T>; items: readonly T[]; next: string | null }>();
  // A first page that was loaded anew has another rest.
  const current = first.data && rest?.after === first.data ? rest : undefined;
  const cursor = current ? current.next : first.data?.next_cursor;
  const next = useAct(async () => {
    if (!first.data || !cursor) return;
    const page = await load(cursor);
    setRest({ after: first.data, items: [...(current?.items ?? []), ...page.items], next: page.next_cursor });
  });
  return {
    ...first,
    data: first.data && [...first.data.items, ...(current?.items ?? [])],
    loading: first.loading || next.busy,
    more: cursor ? () => void next.run() : undefined,
    moreFailure: next.failure,
  };
}
