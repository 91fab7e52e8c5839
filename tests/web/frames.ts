import type { Page } from 'playwright-core';

/** How long pictures took to follow each other while something was done. */
export async function frames(page: Page, act: () => Promise<void>): Promise<{ p95: number; longest: number }> {
  await page.evaluate(() => {
    const times: number[] = [];
    let last = performance.now();
    const step = (now: number): void => {
      times.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    Object.assign(window, { frameTimes: times });
  });
  await act();
  const times = await page.evaluate(() => (window as unknown as { frameTimes: number[] }).frameTimes);
  const sorted = times.slice(1).sort((one, other) => one - other);
  return { p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, longest: sorted.at(-1) ?? 0 };
}
