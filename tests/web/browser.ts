/** A person at a browser: Debian's Chromium, signed in to a box, with an eye on everything that must not happen. */

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { TestBox } from '../support/box.ts';

export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export interface Visitor {
  readonly page: Page;
  /** To a path within the dashboard, such as /executions. */
  go(path: string): Promise<void>;
  /** Fails when axe finds something serious. Each call also looks at the other theme. */
  accessible(): Promise<void>;
  /** Fails when the page is wider than a phone, its title is squeezed or the open tab is out of sight. Leaves the window as wide as it was. */
  fitsPhone(): Promise<void>;
  /** Into the folder SKILLBOX_SCREENSHOTS names, if any. */
  screenshot(name: string): Promise<void>;
  /** Fails when anything was said on the console, loaded from elsewhere, or refused by the policy. */
  quiet(): void;
  close(): Promise<void>;
}

export interface VisitOptions {
  /** Whose key; without it the administrator's. null: nobody is signed in. */
  readonly key?: string | null;
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'dark' | 'light';
  /** What may stand on the console after all. */
  readonly mayHear?: RegExp;
}

export interface Person {
  visit(box: Pick<TestBox, 'url' | 'key'>, options?: VisitOptions): Promise<Visitor>;
  close(): Promise<void>;
}

export async function startBrowser(): Promise<Person> {
  if (!chromiumPath) throw new Error('Chromium is missing: scripts/setup.sh test installs it.');
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-browser-'));
  const browser: Browser = await chromium.launch({
    executablePath: chromiumPath,
    headless: true,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync', `--crash-dumps-dir=${folder}`],
    ],
  });
  return {
    visit: (box, options = {}) => visit(browser, box, options),
    async close() {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function visit(browser: Browser, { url, key: admin }: Pick<TestBox, 'url' | 'key'>, options: VisitOptions): Promise<Visitor> {
  const { key = admin, width = 1280, height = 800, theme = 'dark', mayHear } = options;
  const context: BrowserContext = await browser.newContext({ viewport: { width, height }, colorScheme: theme, acceptDownloads: true });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
  if (key !== null) await context.addInitScript((value) => sessionStorage.setItem('skillbox.key', value), key);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const heard: string[] = [];
  const note = (text: string): void => {
    if (!mayHear?.test(text)) heard.push(text);
  };
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && note(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => note(`uncaught: ${error.message}`));
  page.on('dialog', (dialog) => {
    note(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(url) && !/^(blob|data):/.test(target)) note(`request to ${target}`);
  });

  return {
    page,
    async go(path) {
      await page.goto(`${url}/ui${path}`);
      await page.waitForSelector('.page, .sign-in');
    },
    async accessible() {
      for (const colours of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: colours });
        await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, colours);
        // The policy of the page has no place for injected scripts, and does not hold for what the browser itself is told.
        await page.evaluate(axe.source);
        const found = await page.evaluate(async () => {
          const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(document, {
            runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
          });
          return violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(
              ({ id, nodes }) =>
                `${id}: ${nodes
                  .map(({ html, failureSummary }) => `${html} ${failureSummary}`)
                  .slice(0, 3)
                  .join(' | ')}`,
            );
        });
        expect(found, `axe, ${colours}`).toEqual([]);
      }
      await page.emulateMedia({ colorScheme: theme });
    },
    async fitsPhone() {
      const before = page.viewportSize();
      await page.setViewportSize({ width: 360, height: 740 });
      await page.waitForTimeout(50);
      const wide = await page.evaluate(() => ({ has: document.documentElement.scrollWidth, may: window.innerWidth }));
      expect(wide.has, 'width of the page on a phone').toBeLessThanOrEqual(wide.may);
      expect(await page.evaluate(outOfSight), 'out of sight on a phone').toEqual([]);
      if (before) await page.setViewportSize(before);
    },
    async screenshot(name) {
      const folder = process.env.SKILLBOX_SCREENSHOTS;
      if (!folder) return;
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}.png`) });
    },
    quiet() {
      // Tests beside these start and stop Docker's networks; the browser then drops what is on its way, and the page comes back by itself.
      const changed = heard.some((text) => text.includes('ERR_NETWORK_CHANGED'));
      expect(heard.filter((text) => !changed || !/ERR_NETWORK_CHANGED|ConnectionError/.test(text))).toEqual([]);
    },
    close: () => context.close(),
  };
}

/** Of what tells where one is. In the page. */
function outOfSight(): string[] {
  const titles = [...document.querySelectorAll<HTMLElement>('.page > header h1')].filter(
    ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1 && clientWidth < window.innerWidth * 0.6,
  );
  const chosen = [...document.querySelectorAll<HTMLElement>('[role="tab"][aria-selected="true"], .subnav [aria-current]')].filter(
    (item) => {
      const { left, right } = item.getBoundingClientRect();
      return left < -1 || right > window.innerWidth + 1;
    },
  );
  return [...titles, ...chosen].map(({ outerHTML }) => outerHTML.slice(0, 200));
}
