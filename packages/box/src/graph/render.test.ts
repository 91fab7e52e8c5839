import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { render } from './render.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-render-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('renames fields as the manifest has them, and nothing that is a name of the user', async () => {
  writeFileSync(
    join(folder, 'skillbox.yaml'),
    `version: 1
graph:
  env_files:
    - {id: app-env, path: app.env, source: {kind: file, path: origin.env}}
  services:
    - {id: web, command: 'true', env: {PORT_Of_Web: '80', URL: 'http://me:hidden@example.org/'}}
`,
  );
  const clients = join(folder, '.skillbox-state', 'clients', 'acme');
  mkdirSync(clients, { recursive: true });
  writeFileSync(join(clients, 'overlay.yaml'), 'version: 1\nclient: {id: acme, context: {mainRepo: app}}\n');
  const runtime = {
    config: loadConfig({ cwd: folder, env: {} }),
    server: false,
    signal: new AbortController().signal,
    progress: () => undefined,
  };
  const { graph } = await render(runtime, { client: 'acme', profiles: [] }, { why: false });
  const [api, web] = graph.services as { id: string; env: Record<string, string> }[];
  expect(web).toMatchObject({ id: 'web', env: { PORT_Of_Web: '80' }, bootstrap_tasks: [] });
  expect(JSON.stringify(web)).not.toContain('hidden');
  expect(api?.env).toEqual({});
  expect(graph.env_files).toMatchObject([{ mode: '0600' }]);
  expect(graph.client).toMatchObject({ context: { mainRepo: 'app' } });
});
