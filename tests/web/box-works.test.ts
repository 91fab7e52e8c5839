/** Long work begun in the dashboard: seen while it goes on, on every page, with its end; logs as they are written; the focus of before. */

import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type Person, startBrowser, type Visitor } from './browser.ts';

const manifest = {
  version: 1,
  graph: {
    tasks: [{ id: 'build', command: 'until [ -e go ]; do sleep 0.05; done; echo made > made.txt', outputs: ['made.txt'] }],
    services: [
      { id: 'db', command: 'exec sleep 600' },
      { id: 'web', command: 'echo hello from web; exec sleep 600', bootstrap_tasks: ['build'], depends_on: ['db'] },
      { id: 'broken', command: 'echo "<b>the last straw</b>"; exit 3', profiles: ['surfaces'] },
    ],
  },
};
const overlay = { version: 1, client: { id: 'acme', label: 'Acme' } };

let box: TestBox;
let person: Person;
let visitor: Visitor;
let page: Page;
let way: Way;

beforeAll(async () => {
  const stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-works-'));
  writeFileSync(join(stateRoot, 'skillbox.yaml'), stringify(manifest));
  mkdirSync(join(stateRoot, 'clients', 'acme'), { recursive: true });
  writeFileSync(join(stateRoot, 'clients', 'acme', 'overlay.yaml'), stringify(overlay));
  box = await startTestBox({ SKILLBOX_STATE_ROOT: stateRoot });
  person = await startBrowser();
  way = await openWay(Number(new URL(box.url).port));
  // What is cut off is said on the console.
  visitor = await person.visit({ url: way.url, key: box.key }, { mayHear: /ERR_/ });
  ({ page } = visitor);
});
afterAll(async () => {
  await visitor?.close();
  await person?.close();
  way?.close();
  await box?.json('/v1/runtime/down', { body: {} });
  await box?.stop();
});

interface Way {
  readonly url: string;
  /** Breaks every connection there is; new ones go through. */
  cut(): void;
  close(): void;
}

/** To the box, through something that can fail between the two. */
async function openWay(port: number): Promise<Way> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = createConnection(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const close = (): void => {
    cut();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, close };
}

const dialog = () => page.getByRole('dialog');
const works = () => page.getByRole('region', { name: 'Under way' });
const steps = () => page.getByRole('list', { name: 'Steps' });

async function begin(deed: string, verb: string): Promise<void> {
  await page.getByRole('button', { name: 'Act' }).click();
  await page.getByRole('menuitem', { name: deed, exact: true }).click();
  await dialog().getByRole('button', { name: verb, exact: true }).click();
}

it('shows each part while it goes on, with what runs now and for how long', async () => {
  await visitor.go('/box');
  await begin('Start everything', 'Start');
  const running = steps().getByRole('listitem').filter({ hasText: 'run build' });
  await running.getByText('running').waitFor();
  await running.getByText(/^[1-9]\d* s$/).waitFor();
  await steps().getByRole('listitem').filter({ hasText: 'sync' }).getByText('done').first().waitFor();
  await dialog().getByText('Running task build').waitFor();
  await visitor.screenshot('box-work-running');
  await visitor.accessible();
  await visitor.fitsPhone();
});

it('goes on when its dialog is closed and another page is looked at, and says there how it ended', async () => {
  await dialog().getByRole('button', { name: 'Close' }).last().click();
  await works().getByText('Start everything').waitFor();
  await page.getByRole('link', { name: 'Skills' }).first().click();
  await page.waitForURL(/\/ui\/skills/);
  await works().getByText('Running task build').waitFor();
  await visitor.screenshot('box-work-elsewhere');
  await visitor.accessible();
  await visitor.fitsPhone();
  writeFileSync(join(box.stateRoot, 'go'), '');
  await works().getByText('Done.').waitFor({ timeout: 30_000 });
  await works()
    .getByRole('button', { name: /^Start everything/ })
    .click();
  await dialog()
    .getByText(/^Done in /)
    .waitFor();
  const done = page.getByRole('list', { name: 'What was done' }).getByRole('listitem');
  await done.filter({ hasText: 'task build' }).getByText('done').waitFor();
  await done.filter({ hasText: 'web' }).getByText('started').waitFor();
  await visitor.screenshot('box-work-done');
  await dialog().getByRole('button', { name: 'Close' }).last().click();
  expect(await works().count()).toBe(0);
  visitor.quiet();
});

it('a part that fails says why, with its last words, and so does the end', async () => {
  await visitor.go('/box?profile=surfaces');
  await begin('Start everything', 'Start');
  await dialog()
    .getByText(/^Not all went well/)
    .waitFor({ timeout: 30_000 });
  const broken = page.getByRole('list', { name: 'What was done' }).getByRole('listitem').filter({ hasText: 'broken' });
  await broken.getByText('<b>the last straw</b>').waitFor();
  await broken.getByText(/exit code 3/).waitFor();
  await visitor.screenshot('box-work-failed');
  await visitor.accessible();
  await visitor.fitsPhone();
  await dialog().getByRole('button', { name: 'Close' }).last().click();
  visitor.quiet();
});

it('the log of a service comes as it is written, and goes on after the connection was away', async () => {
  const log = join(box.stateRoot, 'logs/services/web.log');
  const line = (text: string) => page.getByText(text, { exact: true });
  await visitor.go('/box/services/web');
  await line('hello from web').waitFor();
  const asked: string[] = [];
  page.on('request', (request) => request.url().includes('/v1/runtime/logs') && asked.push(request.url()));
  appendFileSync(log, 'the first\n');
  await line('the first').waitFor();
  appendFileSync(log, 'the second\n');
  await line('the second').waitFor();
  // One stream, and no polling.
  expect(asked).toEqual([]);
  way.cut();
  appendFileSync(log, 'while it was away\n');
  await line('while it was away').waitFor({ timeout: 20_000 });
  expect(asked.length).toBeGreaterThan(0);
  appendFileSync(log, 'and after\n');
  await line('and after').waitFor();
  expect(await line('the second').count()).toBe(1);
});

it('focus shows its phases as they come, and what was focused is there for who comes later', async () => {
  await visitor.go('/box/focus');
  await page.getByLabel('Client').selectOption('acme');
  await page.getByRole('button', { name: 'Focus', exact: true }).click();
  await page.getByText('Focused on acme').waitFor({ timeout: 30_000 });
  await page.reload();
  const last = page.getByRole('region', { name: 'Last focus' });
  await last.getByText('Last focused on acme').waitFor();
  await last.getByRole('list', { name: 'Steps' }).getByText('persist').waitFor();
  await last.getByRole('list', { name: 'What agents read' }).getByText('CLAUDE.md').first().waitFor();
  await visitor.screenshot('box-focus-last');
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.go('/box');
  await page.getByText('This is the box without a client. Last focused:').waitFor();
  await visitor.screenshot('box-to-focused');
  await visitor.accessible();
  await page.getByRole('main').getByRole('link', { name: 'acme' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?client=acme');
  await expect.poll(() => page.getByText('This is the box').count()).toBe(0);
});
