/** Sandboxes in the dashboard, walked as a person would: made, used through terminal, files, programs and ports, kept, forked, ended. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Page as Items, Sandbox } from '@skillbox/protocol';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type Person, startBrowser, type Visitor } from './browser.ts';
import { drop } from './drop.ts';

let box: TestBox;
let person: Person;
let visitor: Visitor;
let page: Page;
let id: string;

beforeAll(async () => {
  box = await startTestBox();
  person = await startBrowser();
  // What is refused on purpose stands on the console of every browser.
  visitor = await person.visit(box, { mayHear: /status of (400|404)/ });
  ({ page } = visitor);
});
afterAll(async () => {
  await person?.close();
  await box?.stop();
});

const files = (path: string) => `/v1/sandboxes/${id}/files?path=${encodeURIComponent(path)}`;
const read = async (path: string) => (await box.request(files(path))).text();
const write = (path: string, body: string) => box.json(files(path), { method: 'PUT', body });
const start = (cmd: string) => box.json(`/v1/sandboxes/${id}/programs`, { body: { cmd, wait: false } });
const record = async (of = id) => (await box.json<Sandbox>(`/v1/sandboxes/${of}`)).body;
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
const tab = async (name: string) => {
  await page.getByRole('tab', { name, exact: true }).click();
};
const looks = async (name: string) => {
  await visitor.screenshot(name);
  await visitor.accessible();
  await visitor.fitsPhone();
  visitor.quiet();
};

describe('a sandbox', () => {
  it('is made from a template, and who would make it is told before', async () => {
    await visitor.go('/sandboxes');
    await page.getByText('No sandbox lives').waitFor();
    await page.getByText('skillbox sandbox create python').waitFor();
    await looks('sandboxes-empty');
    await button('New sandbox').click();
    await page.getByLabel('Template').selectOption('python');
    await page.getByLabel('Lives for').fill('30m');
    await page.getByLabel('Variables').fill('STAGE=dev\nnonsense');
    await page.getByText('Line 2 is not NAME=VALUE.').waitFor();
    expect(await inDialog('Create').isDisabled()).toBe(true);
    await page.getByLabel('Variables').fill('STAGE=dev');
    await page.getByLabel('Labels').fill('owner=<img src=x onerror=alert(1)>');
    await page.getByText('taken: ').waitFor();
    await looks('sandbox-create');
    await inDialog('Create').click();
    await page.waitForURL(/\/ui\/sandboxes\/i[a-z0-9]{19}$/);
    id = page.url().slice(-20);
    await page.getByText('ends in').waitFor();
    expect(await record()).toMatchObject({ state: 'ready', template: 'python@1', labels: { owner: '<img src=x onerror=alert(1)>' } });
    await page.getByText('taken: the first').waitFor();
    await page.getByText('owner=<img src=x onerror=alert(1)>').waitFor();
    await button('And one made now?').click();
    await page.getByText('One made now').waitFor();
    await looks('sandbox-about');
  });

  it('has a terminal that answers, returns after a break, and shows no more than text', async () => {
    await tab('Terminal');
    await page.getByText(/Connected, program \d+/).waitFor();
    const screen = page.locator('.xterm-rows');
    const type = async (line: string) => {
      await page.locator('.xterm-helper-textarea').focus();
      await page.keyboard.type(`${line}\n`);
    };
    await type('echo "seven: $((3+4)) $STAGE"; tput cols');
    await screen.getByText('seven: 7 dev').first().waitFor();
    await type(
      'clear; printf "\\033]0;<script>alert(1)</script>\\007\\033[38;2;1;200;3mg\\162een <img src=x onerror=alert(1)>\\033[0m\\n"',
    );
    const green = screen.locator('span', { hasText: 'green <img src=x onerror=alert(1)>' }).last();
    await green.waitFor();
    // Colours that xterm writes as attributes hold too, though the policy takes no such attribute.
    expect(await green.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(1, 200, 3)');
    expect(await page.title()).not.toContain('script');
    await visitor.screenshot('sandbox-terminal');
    // Another width is told to the program.
    await page.setViewportSize({ width: 800, height: 700 });
    await type('clear; echo "now $(tput cols)"');
    await screen
      .getByText(/now \d+/)
      .first()
      .waitFor();
    expect(Number(/now (\d+)/.exec((await screen.textContent()) ?? '')?.[1])).toBeLessThan(110);
    await page.setViewportSize({ width: 1280, height: 800 });
    // The same shell after the page was loaded anew: its number is in the address.
    await type('clear; kept=still-here');
    await page.reload();
    await page.getByText(/Connected, program \d+/).waitFor();
    await type('echo "it is $kept"');
    await screen.getByText('it is still-here').first().waitFor();
    await looks('sandbox-terminal-again');
    await type('exit 3');
    await page
      .getByText(/ended with 3/)
      .first()
      .waitFor();
    await button('New shell').click();
    await page.getByText(/Connected, program \d+/).waitFor();
    visitor.quiet();
  });

  it('has files: opened, edited, saved, and not written over without a word', async () => {
    await write('notes/today.txt', 'first line\n');
    await tab('Files');
    await button('notes').click();
    await button('today.txt').click();
    const text = page.getByLabel('Content of today.txt');
    await text.fill('changed by a person\n');
    await page.keyboard.press('Control+s');
    await page.getByText('Saved.').waitFor();
    expect(await read('notes/today.txt')).toBe('changed by a person\n');
    await write('notes/today.txt', 'by somebody else\n');
    await text.fill('again\n');
    await button('Save').click();
    await page.getByText('It was changed meanwhile').waitFor();
    expect(await read('notes/today.txt')).toBe('by somebody else\n');
    await inDialog('Write over it').click();
    await expect.poll(() => read('notes/today.txt')).toBe('again\n');
    await looks('sandbox-editor');
    // Where one looks stands in the address.
    await page.reload();
    await text.waitFor();
    await button('Back to the folder').click();
    await button('today.txt').waitFor();
  });

  it('takes files and gives them back, makes, renames and removes', async () => {
    await page.getByLabel('Files to upload').setInputFiles([{ name: 'up.bin', mimeType: '', buffer: Buffer.from([0, 1, 255]) }]);
    await button('up.bin').waitFor();
    expect(Buffer.from(await (await box.request(files('notes/up.bin'))).arrayBuffer())).toEqual(Buffer.from([0, 1, 255]));
    await button('up.bin').click();
    await page.getByText('This is not text').waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download').click()]);
    expect(readFileSync(await download.path())).toEqual(Buffer.from([0, 1, 255]));
    await button('Back to the folder').click();
    // Dropped, and there already: asked first.
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['dropped'], 'dropped.txt'));
      transfer.items.add(new File(['other'], 'up.bin'));
      return transfer;
    });
    await page.dispatchEvent('.files', 'drop', { dataTransfer: data });
    await page.getByText('Replace it?').waitFor();
    await inDialog('Keep it').click();
    await expect.poll(() => read('notes/dropped.txt')).toBe('dropped');
    expect((await read('notes/up.bin')).length).toBe(3);
    await button('New folder').click();
    await page.getByLabel('Name', { exact: true }).fill('made here');
    await inDialog('Make it').click();
    await button('made here').waitFor();
    await button('Rename dropped.txt').click();
    await page.getByLabel('Name', { exact: true }).fill('renamed.txt');
    await inDialog('Rename').click();
    await button('renamed.txt').waitFor();
    await button('Remove renamed.txt').click();
    await inDialog('Remove').click();
    await button('renamed.txt').waitFor({ state: 'detached' });
    expect((await box.request(files('notes/renamed.txt'))).status).toBe(404);
    visitor.quiet();
  });

  it('takes folders with all that is in them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skillbox-drop-'));
    try {
      // More than a browser tells at once.
      const many = Array.from({ length: 130 }, (_, at) => `many/${at}.txt`);
      for (const path of ['src/main.py', 'src/deep/er/<b>.txt', ...many]) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), path);
      }
      await drop(
        page,
        '.files',
        ['src', 'many'].map((name) => join(folder, name)),
      );
      await page.getByText('Uploaded 132 files.').waitFor({ timeout: 30_000 });
      for (const path of ['src/main.py', 'src/deep/er/<b>.txt', 'many/0.txt', 'many/129.txt'])
        expect(await read(`notes/${path}`)).toBe(path);
      await button('src').click();
      await button('deep').click();
      await button('er').click();
      await button('<b>.txt').waitFor();
      visitor.quiet();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('shows hostile names and contents as text, and what changes inside at once', async () => {
    await write('bad/<img src=x onerror=alert(1)>.txt', '</textarea><script>alert(1)</script>');
    await write('bad/photo\u202egpj.exe', 'x');
    await write('bad/"><script>alert(2)</script>', 'x');
    await write('bad/new\nline', 'x');
    await page.goto(`${box.url}/ui/sandboxes/${id}?tab=files&path=%2Fhome%2Fuser%2Fbad`);
    await button('photo\\u{202e}gpj.exe').waitFor();
    await button('new\\u{a}line').waitFor();
    await looks('sandbox-files');
    await start('echo x > bad/appeared');
    await button('appeared').waitFor();
    await button('<img src=x onerror=alert(1)>.txt').click();
    await expect.poll(() => page.locator('.editor textarea').inputValue()).toBe('</textarea><script>alert(1)</script>');
    expect(await page.locator('.page img, .page script').count()).toBe(0);
    await page.goto(`${box.url}/ui/sandboxes/${id}?tab=files&path=%2F%3Cscript%3Ealert(1)`);
    await page.getByRole('alert').waitFor();
    await page.getByText('Request', { exact: false }).first().waitFor();
    await visitor.screenshot('sandbox-files-error');
  });

  it('runs a line with its output as it comes, takes its stdin, and ends a program', async () => {
    await visitor.go(`/sandboxes/${id}?tab=programs`);
    await page.getByLabel('keep stdin open').check();
    await page.getByLabel('Command').fill('echo "ready <b>now</b>"; read line; echo "heard $line"; sleep 600');
    await button('Run').click();
    await page.getByText('ready <b>now</b>', { exact: true }).waitFor();
    await page.getByLabel('A line for its stdin').fill('a word');
    await button('Send').click();
    await page.getByText('heard a word', { exact: true }).waitFor();
    await looks('sandbox-programs');
    await button(/^End program/)
      .first()
      .click();
    await page.getByText(/ended by SIGTERM/).waitFor();
    await page.getByText('SIGTERM', { exact: true }).first().waitFor();
    visitor.quiet();
  });

  it('shows what listens, and leads there without leaving the key to the page behind it', async () => {
    await tab('Ports');
    await page.getByText('Nothing listens in it').waitFor();
    const program = `from http.server import *
class H(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"""<title>inside</title><script>
let seen; try { seen = String(sessionStorage.getItem('skillbox.key')) } catch (error) { seen = error.name }
document.title = 'seen: ' + seen + ' ' + (window.opener === null)</script>"""
        self.send_response(200); self.send_header('Content-Type', 'text/html'); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
HTTPServer(('127.0.0.1', 8123), H).serve_forever()`;
    await write('serve.py', program);
    await start('exec python3 serve.py');
    await page.getByRole('cell', { name: '8123' }).waitFor();
    const [preview] = await Promise.all([page.context().waitForEvent('page'), button('Open').first().click()]);
    await expect.poll(() => preview.title()).toBe('seen: SecurityError true');
    await preview.close();
    await page.getByRole('link', { name: /\/preview\// }).waitFor();
    await looks('sandbox-ports');
  });

  it('shows what it uses', async () => {
    await start('exec timeout 20 sh -c "while :; do :; done"');
    await tab('Metrics');
    await page.getByRole('figure', { name: /^Memory: now/ }).waitFor();
    await expect.poll(() => page.locator('.sandbox-metrics polyline').count(), { timeout: 15_000 }).toBe(4);
    await expect
      .poll(async () => Number(/(\d+\.\d+) CPU/.exec((await page.locator('.sandbox-metrics .now').first().textContent()) ?? '')?.[1]), {
        timeout: 15_000,
      })
      .toBeGreaterThan(0.2);
    await looks('sandbox-metrics');
  });

  it('lives longer when asked, and says why it may not', async () => {
    await button('Extend').click();
    await page.getByLabel('Time', { exact: true }).last().fill('99h');
    await inDialog('Set').click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: '4h', exact: true }).click();
    await inDialog('Set').click();
    await page.getByText(/ends in 3 h 59 min|ends in 4 h 00 min/).waitFor();
    const left = Date.parse((await record()).expires_at ?? '') - Date.now();
    expect(left).toBeGreaterThan(3.9 * 3600_000);
  });

  it('is kept, forked and put back, as a tree', async () => {
    await tab('Snapshots');
    await page.getByText('No snapshot was taken of it').waitFor();
    await button('Take a snapshot').click();
    await page.getByLabel('Name (optional)').fill('<b>clean</b>');
    await inDialog('Take it').click();
    await page.getByText('<b>clean</b>', { exact: true }).waitFor();
    await write('after.txt', 'x');
    await button('Fork').first().click();
    await inDialog('Fork').click();
    await page.getByText('fork', { exact: true }).waitFor();
    await button('New sandbox from <b>clean</b>').click();
    await page.getByText('New sandbox from a snapshot').waitFor();
    await inDialog('Create').click();
    await page.waitForURL((url) => /\/sandboxes\/i[a-z0-9]{19}$/.test(url.pathname) && !url.pathname.endsWith(id));
    const copy = page.url().slice(-20);
    await visitor.go(`/sandboxes/${id}?tab=disks`);
    await page.getByRole('link', { name: copy }).waitFor();
    const { items } = (await box.json<Items<Sandbox>>('/v1/sandboxes?state=ready')).body;
    expect(items.map(({ origin }) => origin)).toEqual([
      { sandbox: id, snapshot: expect.stringMatching(/^s/) },
      { sandbox: id, snapshot: null },
      null,
    ]);
    await looks('sandbox-disks');
    await button('Restore <b>clean</b> into this sandbox').click();
    await inDialog('Restore').click();
    await page.getByText('Restored.').waitFor();
    expect((await box.request(files('after.txt'))).status).toBe(404);
    await button('Remove <b>clean</b>').click();
    await inDialog('Remove').click();
    await page.getByText(/\(removed\)/).waitFor();
    visitor.quiet();
  });

  it('rests and goes on; a look at it does not wake it', async () => {
    await tab('Files');
    await button('Pause').click();
    await page.getByText('It is paused').waitFor();
    expect(await record()).toMatchObject({ state: 'paused' });
    await looks('sandbox-paused');
    await button('Resume').last().click();
    await button('notes').waitFor();
    await tab('Events');
    await page.getByRole('cell', { name: 'sandbox.paused' }).first().waitFor();
    await looks('sandbox-events');
  });

  it('stands in the list with the others, which follows what happens elsewhere', async () => {
    await visitor.go('/sandboxes');
    await page.getByRole('link', { name: id }).waitFor();
    await looks('sandboxes');
    const other = (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'canary' } })).body.id;
    await page.getByRole('link', { name: other }).waitFor();
    await box.request(`/v1/sandboxes/${other}`, { method: 'DELETE' });
    await page.getByRole('link', { name: other }).waitFor({ state: 'detached' });
    await page.getByLabel('Filter').fill('python');
    expect(await page.getByRole('row').count()).toBe(4);
    await button('Destroyed').click();
    await page.getByLabel('Filter').fill('');
    await page.getByRole('link', { name: other }).waitFor();
    expect(page.url()).toContain('state=destroyed');
  });

  it('is recreated, after a question, with a fresh disk under the same id', async () => {
    await write('soon-gone.txt', 'x');
    await visitor.go(`/sandboxes/${id}`);
    await button(/^More/).click();
    await page.getByRole('menuitem', { name: 'Recreate' }).click();
    await inDialog('Keep it').click();
    expect(await read('soon-gone.txt')).toBe('x');
    await button(/^More/).click();
    await page.getByRole('menuitem', { name: 'Recreate' }).click();
    await page.getByText('What runs in it ends, and what is on its disk is lost.').waitFor();
    await looks('sandbox-recreate');
    await inDialog('Recreate').click();
    await page.getByText('It has a fresh disk.').waitFor();
    expect(await record()).toMatchObject({ id, state: 'ready' });
    expect((await box.request(files('soon-gone.txt'))).status).toBe(404);
    visitor.quiet();
  });

  it('is destroyed, after a question', async () => {
    await visitor.go(`/sandboxes/${id}`);
    await button(/^More/).click();
    await page.getByRole('menuitem', { name: 'Destroy' }).click();
    await inDialog('Keep it').click();
    expect((await record()).state).toBe('ready');
    await button(/^More/).click();
    await page.getByRole('menuitem', { name: 'Destroy' }).click();
    await inDialog('Destroy').click();
    await expect.poll(async () => (await record()).state).toBe('destroyed');
    await tab('Terminal');
    await page.getByText('It is destroyed').waitFor();
    await visitor.screenshot('sandbox-destroyed');
  });
});

it('what a sandbox reaches is narrowed and taken away, and never more than its template has', async () => {
  const rule = { host: 'api.example.com', methods: ['GET'] };
  const network = { mode: 'allow', allow: ['example.com', 'example.org', rule] };
  await box.json('/v1/templates/connected', { method: 'PUT', body: { network } });
  const made = (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'connected' } })).body.id;
  const key = await box.newKey('default', ['sandboxes:read', 'sandboxes:use']);
  const user = await person.visit(box, { key, mayHear: /status of 403/ });
  const card = user.page.locator('.card', { has: user.page.getByRole('heading', { name: 'Network' }) });
  const dialog = user.page.getByRole('dialog');
  const set = () => dialog.getByRole('button', { name: 'Set', exact: true }).click();
  await user.go(`/sandboxes/${made}`);
  await card.getByText('example.org').waitFor();
  await card.getByRole('button', { name: 'Change' }).click();
  await dialog.getByText('These stay too: api.example.com GET').waitFor();
  await dialog.getByLabel('Hosts it may reach').fill('elsewhere.example');
  await set();
  await dialog.getByText('is more than the template connected allows').waitFor();
  await user.accessible();
  await user.fitsPhone();
  await user.screenshot('sandbox-network');
  await dialog.getByLabel('Hosts it may reach').fill('example.com');
  await set();
  await card.getByText('example.org').waitFor({ state: 'detached' });
  const { network_allow } = await record(made);
  expect(network_allow).toHaveLength(2);
  expect(network_allow).toEqual(expect.arrayContaining(['example.com', expect.objectContaining(rule)]));
  await card.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Network').selectOption('none');
  await set();
  await card.getByText('It reaches nothing.').waitFor();
  expect(await record(made)).toMatchObject({ network: 'none', network_allow: [] });
  user.quiet();
  await user.close();
});

it('who may only look is offered nothing else', async () => {
  const key = await box.newKey('lookers', ['sandboxes:read', 'sandboxes:use']);
  const made = (await box.json<Sandbox>('/v1/sandboxes', { key, body: { template: 'base' } })).body.id;
  const looker = await person.visit(box, { key: await box.newKey('lookers', ['sandboxes:read']) });
  await looker.go(`/sandboxes/${made}?tab=files`);
  await looker.page.getByText('This folder is empty').waitFor();
  for (const name of ['Extend', 'Pause', 'Upload', 'New file']) expect(await looker.page.getByRole('button', { name }).count()).toBe(0);
  expect(await looker.page.getByRole('tab', { name: 'Terminal' }).count()).toBe(0);
  await looker.go('/sandboxes');
  await looker.page.getByRole('link', { name: made }).waitFor();
  expect(await looker.page.getByRole('button', { name: 'New sandbox' }).count()).toBe(0);
  looker.quiet();
  await looker.close();
});

it('an administrator who looks at another tenant gets a terminal there', async () => {
  const key = await box.newKey('others', ['sandboxes:read', 'sandboxes:use']);
  const made = (await box.json<Sandbox>('/v1/sandboxes', { key, body: { template: 'base' } })).body.id;
  const admin = await person.visit(box);
  await admin.go(`/sandboxes/${made}?tenant=others&tab=terminal`);
  await admin.page.getByText(/Connected, program \d+/).waitFor();
  admin.quiet();
  await admin.close();
});
