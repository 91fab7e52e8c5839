import type { PageInfo } from './page.ts';

const found = import.meta.glob<{ readonly page: PageInfo }>('./*/page.ts', { eager: true });

/** In the order of the navigation. */
export const pages: readonly PageInfo[] = Object.values(found)
  .map(({ page }) => page)
  .sort((one, other) => one.order - other.order);
