/** Pictures of the dashboard for README and docs, of a box with real work in it: make screenshots */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { loadConfig } from '../packages/box/src/config.ts';
import { createLog } from '../packages/box/src/observe/log.ts';
import { startServer } from '../packages/box/src/server/serve.ts';
import { packArchive } from '../packages/box/src/skills/archive.ts';

const root = resolve(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'docs/screenshots'));
mkdirSync(folder, { recursive: true });
const stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-pictures-'));
writeFileSync(
  join(stateRoot, 'skillbox.yaml'),
  `version: 1
name: pictures
graph:
  repos:
    - {id: app, path: app, source: {kind: directory}, sync: {mode: ensure-directory}}
  env_files:
    - {id: app-env, path: app/.env, repo: app, source: {kind: file, path: secrets/app.env}}
  tasks:
    - {id: install, repo: app, command: touch installed, success: {type: path_exists, path: app/installed}}
    - {id: migrate, repo: app, command: touch migrated, depends_on: [install], success: {type: path_exists, path: app/migrated}}
  services:
    - {id: db, command: exec sleep 900}
    - {id: auth, command: exec sleep 900, depends_on: [db]}
    - {id: web, repo: app, command: exec sleep 900, depends_on: [auth, db], bootstrap_tasks: [migrate]}
    - {id: worker, repo: app, command: exec sleep 900, depends_on: [db], bootstrap_tasks: [install]}
  checks:
    - {id: installed, path: app/installed}
`,
);
const config = loadConfig({
  cwd: stateRoot,
  env: { SKILLBOX_API_PORT: '0', SKILLBOX_LOG_LEVEL: 'error', SKILLBOX_STATE_ROOT: stateRoot },
});
const { url, stop } = await startServer(config, createLog(config.logLevel));
const key = readFileSync(join(stateRoot, 'admin.key'), 'utf8').trim();

async function call<T>(path: string, body?: unknown): Promise<T> {
  const raw = body instanceof Uint8Array;
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': raw ? 'application/zip' : 'application/json' },
    ...(body !== undefined && { body: raw ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  });
  return (await response.json()) as T;
}

async function pushFolder(path: string): Promise<void> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const list = files.map((entry) => {
    const full = join(entry.parentPath, entry.name);
    return { path: full.slice(path.length + 1), mode: 0o644, data: readFileSync(full) };
  });
  await call('/v1/skills', new Uint8Array(await packArchive(list)));
}

const skills = join(root, 'examples/skills');
for (const { name } of readdirSync(skills, { withFileTypes: true }).filter((entry) => entry.isDirectory()))
  await pushFolder(join(skills, name));
let last = '';
for (let turn = 0; turn < 40; turn += 1) {
  const data = Array.from({ length: 20 }, (_, at) => (at * (turn + 3)) % 17);
  const run = await call<{ execution_id: string }>('/v1/executions', { skill: 'data-analysis', input: { data } });
  last = run.execution_id;
  if (turn % 6 === 0)
    await call('/v1/executions', { skill: 'text-summary', input: { text: 'A box that agents live in. It is quick. It is safe.' } });
  if (turn % 13 === 0) await call('/v1/executions', { skill: 'data-analysis', input: { data: ['no number'] } });
}
await call('/v1/runtime/up', {});
await call('/v1/runtime/down', { service: 'worker' });
const sandbox = await call<{ id: string }>('/v1/sandboxes', { template: 'base', labels: { for: 'pictures' } });

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync'],
});
/** Page, theme, and whether on a phone. */
const pictures: [name: string, path: string, theme: 'dark' | 'light', width: number][] = [
  ['overview', '/?window=15m', 'dark', 1280],
  ['overview-light', '/?window=15m', 'light', 1280],
  ['overview-phone', '/?window=15m', 'dark', 360],
  ['box', '/box', 'dark', 1280],
  ['box-service', '/box?item=services%2Fweb', 'light', 1280],
  ['box-phone', '/box?view=list', 'dark', 360],
  ['executions', '/executions', 'dark', 1280],
  ['execution', `/executions/${last}`, 'dark', 1280],
  ['execution-output', `/executions/${last}?tab=output`, 'light', 1280],
  ['execution-timings', `/executions/${last}?tab=timings`, 'dark', 1280],
  ['skills', '/skills', 'dark', 1280],
  ['skill', '/skills/data-analysis', 'light', 1280],
  ['sandboxes', '/sandboxes', 'dark', 1280],
  ['sandbox-terminal', `/sandboxes/${sandbox.id}?tab=terminal`, 'dark', 1280],
  ['admin', '/admin', 'light', 1280],
];
for (const [name, path, theme, width] of pictures) {
  const context = await browser.newContext({ viewport: { width, height: width < 400 ? 740 : 860 }, colorScheme: theme });
  await context.addInitScript((value) => sessionStorage.setItem('skillbox.key', value), key);
  const page = await context.newPage();
  await page.goto(`${url}/ui${path}`);
  await page.waitForSelector('.page');
  await page.waitForFunction(() => !document.querySelector('.skeleton'));
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
  console.log(join(folder, `${name}.png`));
}
await browser.close();
const { items } = await call<{ items: { id: string }[] }>('/v1/sandboxes');
for (const { id } of items) await fetch(`${url}/v1/sandboxes/${id}`, { method: 'DELETE', headers: { Authorization: `Bearer ${key}` } });
await call('/v1/runtime/down', {});
await stop();
rmSync(stateRoot, { recursive: true, force: true });
