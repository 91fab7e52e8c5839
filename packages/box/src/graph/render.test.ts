import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { boxModel, renderedGraph } from '@skillbox/protocol';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { everyFinding } from './findings.ts';
import { describeBox, render } from './render.ts';
import { declaredWithoutSecrets } from './shown.ts';

const folder = mkdtempSync(join(tmpdir(), 'render-'));
afterAll(() => rmSync(folder, { recursive: true }));

function put(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

put('.env', 'API_TOKEN=hush-hush\nDATABASE=postgres://me:pw-of-db@db/x\nCOLOUR=red\n');
put(
  'skillbox.yaml',
  `version: 1
name: mine
workspace: {purpose: Tests, ports: {web: 3000}, network: {mode: full}}
graph:
  repos:
    - {id: app, path: /monoserver/app, source: {url: "https://me:pw-of-git@example.org/app.git"}}
  services:
    - id: web
      repo: app
      command: run --colour \${COLOUR}
      env: {TOKEN: "Bearer \${API_TOKEN}", DSN: "\${DATABASE}", PASSWORD: written-here, PLAIN_Colour: "\${COLOUR}"}
      profiles: [surfaces]
`,
);
put(
  '.skillbox-state/clients/acme/overlay.yaml',
  'version: 1\nclient:\n  id: acme\n  context: {mainRepo: app, team: "${COLOUR}"}\n  env_files: [{id: app-env, path: app.env, source: {path: origin.env}}]\n  logs:\n    - {id: own, path: logs, retention_days: 3}\n',
);
put('.skillbox-state/clients/broken/overlay.yaml', 'version: 1\nclient: {id: broken, logs: [{id: a, path: b, retention_days: 0}]}\n');

const config = loadConfig({ cwd: folder, env: { SKILLBOX_SECRET_KEY: `box-secret-${'x'.repeat(32)}` } });
const runtime = { config, server: false, signal: new AbortController().signal, progress: () => undefined };

describe('render', () => {
  it('shows items with placeholders filled in, and both sides of paths', async () => {
    const rendered = await render(runtime, { client: 'acme', profiles: ['surfaces'] }, { why: true });
    expect(renderedGraph.parse(rendered)).toEqual(rendered);
    expect(rendered).toMatchObject({ client: 'acme', profiles: ['core', 'surfaces'], variables: { COLOUR: 'red', CLIENT_ID: 'acme' } });
    expect(rendered.graph).toMatchObject({
      client: { id: 'acme', context: { mainRepo: 'app', team: 'red' } },
      env_files: [{ mode: '0600' }],
      repos: [{ id: 'app', place: { path: '/monoserver/app', host_path: join(config.stateRoot, 'monoserver/app') } }],
      services: [
        { id: 'api', own: 'api' },
        { id: 'web', commands: { reuse: 'run --colour red' }, template: 'workspace', start_ms: 30_000 },
      ],
      logs: [{ id: 'own', client: 'acme', retention_days: 3 }],
    });
    expect(rendered.why).toContainEqual({
      path: 'logs.own.retention_days',
      file: join(config.stateRoot, 'clients/acme/overlay.yaml'),
      line: 7,
    });
    expect(rendered.why).toContainEqual({ path: 'services.web.command', file: join(folder, 'skillbox.yaml'), line: 10 });
    expect(rendered.why).toContainEqual({ path: 'variables.COLOUR', file: join(folder, '.env'), line: 3 });
    expect(rendered.why).toContainEqual({ path: 'services.api', file: 'default', line: 0 });
    expect(rendered.why).toContainEqual({ path: 'variables.SKILLBOX_NAME', file: join(folder, 'skillbox.yaml'), line: 2 });
    expect(rendered.why).toContainEqual({ path: 'variables.SKILLBOX_WEB_PORT', file: join(folder, 'skillbox.yaml'), line: 3 });
    expect(rendered.why).toContainEqual({ path: 'variables.SKILLBOX_LOG_ROOT', file: 'default', line: 0 });
  });

  it('never shows a secret, whoever wrote it where', async () => {
    const rendered = JSON.stringify(await render(runtime, { client: 'acme', profiles: ['surfaces'] }, { why: true }));
    expect(rendered).not.toMatch(/hush-hush|pw-of-db|pw-of-git|written-here|box-secret/);
    expect(rendered).toContain('Bearer ${API_TOKEN}');
    expect(rendered).toContain('"DSN":"${DATABASE}"');
    expect(rendered).toContain('"PASSWORD":"********"');
    expect(rendered).toContain('"PLAIN_Colour":"red"');
    expect(rendered).toContain('https://me:********@example.org/app.git');
  });

  it('what is declared is shown without the secrets in it', () => {
    expect(declaredWithoutSecrets({ env: { API_KEY: 'x', A: 'b', MY_TOKEN: '${MY_TOKEN}' }, key: 'y', list: ['https://a:b@c'] })).toEqual({
      env: { API_KEY: '********', A: 'b', MY_TOKEN: '${MY_TOKEN}' },
      key: 'y',
      list: ['https://a:********@c'],
    });
  });

  it('the model of the box has its paths, ports, clients and profiles', async () => {
    const model = await describeBox(runtime);
    expect(boxModel.parse(model)).toEqual(model);
    expect(model).toMatchObject({
      name: 'mine',
      purpose: 'Tests',
      runtime: { agent_user: 'sandbox', provider: 'bubblewrap', network: 'full' },
      ports: { api: 8080, web: 3000 },
      clients: ['acme', 'broken'],
      profiles: ['core', 'connectors', 'connectors-dev', 'surfaces'],
    });
    expect(model.paths).toContainEqual({
      variable: 'SKILLBOX_MONOSERVER_ROOT',
      path: '/monoserver',
      host_path: join(config.stateRoot, 'monoserver'),
    });
    expect(model.paths).toHaveLength(7);
  });

  it('every overlay is looked at for findings, each once', () => {
    expect(everyFinding(config).map(({ code, file }) => `${code} ${file.replace(folder, '')}`)).toEqual([
      'graph.secret_written /skillbox.yaml',
      'graph.secret_written /skillbox.yaml',
      'graph.bad_retention /.skillbox-state/clients/broken/overlay.yaml',
    ]);
  });

  it('writes nothing', async () => {
    const tree = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
    const before = tree();
    await render(runtime, { client: 'acme', profiles: [] }, { why: true });
    await describeBox(runtime);
    expect(tree()).toEqual(before);
  });
});
