import type { Page } from 'playwright-core';

export interface Frames {
  readonly p95: number;
  readonly longest: number;
  /** What the page's own code took of it all. */
  readonly scriptMs: number;
}

/** How long pictures took to follow each other while something was done. */
export async function frames(page: Page, act: () => Promise<void>): Promise<Frames> {
  const browser = await page.context().newCDPSession(page);
  await browser.send('Performance.enable');
  const scriptSeconds = async (): Promise<number> =>
    (await browser.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0;
  const before = await scriptSeconds();
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
  const scriptMs = ((await scriptSeconds()) - before) * 1000;
  await browser.detach();
  return { p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, longest: sorted.at(-1) ?? 0, scriptMs };
}

/** Counts what is known to be slow while something is done: makers of formats in words of a language, each as slow as a row. */
export async function countFormatters(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const counted = window as unknown as { formatters: number };
    counted.formatters = 0;
    const count = (of: object, name: string): void => {
      const own = Reflect.get(of, name);
      const seen = new Proxy(own, {
        apply(target, self, args) {
          counted.formatters += 1;
          return Reflect.apply(target, self, args);
        },
        construct(target, args) {
          counted.formatters += 1;
          return Reflect.construct(target, args);
        },
      });
      Reflect.set(of, name, seen);
    };
    for (const name of ['toLocaleString', 'toLocaleTimeString', 'toLocaleDateString']) count(Date.prototype, name);
    count(Number.prototype, 'toLocaleString');
    for (const name of ['DateTimeFormat', 'NumberFormat', 'RelativeTimeFormat']) count(Intl, name);
  });
  return () => page.evaluate(() => (window as unknown as { formatters: number }).formatters);
}

/** A piece of work that takes about this long in the browser of a machine with two cores that does nothing else. */
const pieceMs = 6;

/** How many times longer than on a calm machine everything takes just now; at least 1. */
export async function slowness(page: Page): Promise<number> {
  const ms = await page.evaluate(async () => {
    const times: number[] = [];
    for (let turn = 0; turn < 15; turn += 1) {
      const begun = performance.now();
      const numbers = Array.from({ length: 20_000 }, (_, at) => (at * 7919) % 20_011);
      numbers.sort((one, other) => one - other);
      times.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return times.sort((one, other) => one - other)[7] ?? 0;
  });
  return Math.max(1, ms / pieceMs);
}
