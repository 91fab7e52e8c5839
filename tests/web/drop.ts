import type { Page } from 'playwright-core';

/** As from the desktop: real files and folders, and the browser's own drop. */
export async function drop(page: Page, onto: string, paths: readonly string[]): Promise<void> {
  const target = await page.locator(onto).boundingBox();
  if (!target) throw new Error('There is no place to drop.');
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: target.x + 40, y: target.y + 20, data });
  await session.detach();
}
