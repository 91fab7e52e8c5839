import type { Page } from './types.ts';

/** Every item, page by page as they are read. */
export async function* everyItem<T, Q extends { cursor?: string }>(list: (query: Q) => Promise<Page<T>>, query: Q): AsyncGenerator<T> {
  let cursor = query.cursor;
  do {
    const page = await list({ ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.items;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

export async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const array: T[] = [];
  for await (const item of items) array.push(item);
  return array;
}
