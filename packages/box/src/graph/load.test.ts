import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { loadGraph } from './load.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'graph-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A box in the folder: its manifest, overlays by client, and the files beside them. */
function box(graph: string, more: { overlay?: string; env?: Record<string, string>; files?: Record<string, string>; top?: string } = {}) {
  const { overlay, env = {}, files = {}, top = '' } = more;
  write('skillbox.yaml', `version: 1\n${top}graph:\n${indented(graph, 2)}`);
  if (overlay !== undefined) write('.skillbox-state/clients/acme/overlay.yaml', `version: 1\nclient:\n  id: acme\n${indented(overlay, 2)}`);
  for (const [name, text] of Object.entries(files)) write(name, text);
  return loadConfig({ cwd: folder, env });
}

function write(name: string, text: string): void {
  const file = join(folder, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
}

const indented = (text: string, by: number): string => {
  const body = text.trim() === '' ? '{}' : text;
  return `${body
    .split('\n')
    .map((line) => ' '.repeat(by) + line)
    .join('\n')}\n`;
};

const acme = { client: 'acme', profiles: [] };
const none = { profiles: [] };
const state = (...parts: string[]) => join(folder, '.skillbox-state', ...parts);

describe('a graph', () => {
  it('is the server of the box where nothing is declared', () => {
    const graph = loadGraph(loadConfig({ cwd: folder, env: {} }), none);
    expect(graph.services).toMatchObject([{ id: 'api', own: 'api', commands: { reuse: 'skillbox serve' }, ports: [8080] }]);
    expect(graph).toMatchObject({ client: undefined, profiles: ['core'], clients: [], repos: [], tasks: [] });
  });

  it('has places seen from both sides', () => {
    const config = box(`repos:
  - {id: inside, path: /workspace/repos/app}
  - {id: beside, path: code/app}
  - {id: shared, path: "\${SKILLBOX_MONOSERVER_ROOT}/app"}
  - {id: host, path: "\${SKILLBOX_MONOSERVER_HOST_ROOT}/other"}
  - {id: elsewhere, path: /srv/app}`);
    expect(loadGraph(config, none).repos.map(({ place }) => place)).toEqual([
      { path: '/workspace/repos/app', hostPath: state('workspace/repos/app'), inside: true },
      { path: join(folder, 'code/app'), hostPath: join(folder, 'code/app'), inside: false },
      { path: '/monoserver/app', hostPath: state('monoserver/app'), inside: true },
      { path: '/monoserver/other', hostPath: state('monoserver/other'), inside: true },
      { path: '/srv/app', hostPath: '/srv/app', inside: false },
    ]);
  });

  it('runs what lies inside in the workspace, with its paths, and the rest on the host', () => {
    const config = box(`repos:
  - {id: app, path: /monoserver/app}
services:
  - {id: web, repo: app, command: "serve \${SKILLBOX_LOG_ROOT}", env: {LOGS: "\${SKILLBOX_LOG_ROOT}"}}
  - {id: host, command: "serve \${SKILLBOX_LOG_ROOT}", env: {LOGS: "\${SKILLBOX_LOG_ROOT}"}}`);
    const [, web, host] = loadGraph(config, none).services;
    expect(web).toMatchObject({ template: 'workspace', env: { LOGS: '/workspace/logs' }, commands: { fresh: 'serve /workspace/logs' } });
    expect(host).toMatchObject({ template: undefined, env: { LOGS: state('workspace/logs') }, cwd: { hostPath: folder } });
  });

  it('takes an overlay along, and its paths start beside it', () => {
    const config = box('repos: [{id: core-repo, path: core}]', {
      overlay: `label: Acme
default_cwd: \${SKILLBOX_MONOSERVER_ROOT}
repos: [{id: app, path: app}]
services: [{id: web, repo: core-repo, command: "echo \${CLIENT_ID}"}]`,
    });
    const graph = loadGraph(config, acme);
    expect(graph.client).toMatchObject({ id: 'acme', label: 'Acme', tenant: 'acme', defaultCwd: { path: '/monoserver' } });
    expect(graph.repos.map(({ id, client }) => [id, client])).toEqual([
      ['core-repo', undefined],
      ['app', 'acme'],
    ]);
    expect(graph.repos[1]?.place).toEqual({
      path: '/workspace/workspace/clients/acme/app',
      hostPath: state('clients/acme/app'),
      inside: false,
    });
    expect(graph.services[1]?.commands.reuse).toBe('echo acme');
    expect(loadGraph(config, none).repos).toHaveLength(1);
  });

  it('knows where each value came from', () => {
    const config = box(
      `services:
  - id: web
    command: \${RUN} it
    healthcheck:
      type: http
      url: http://127.0.0.1:3000/`,
      { files: { '.env': '# mine\nRUN=do\n' } },
    );
    const { why } = loadGraph(config, none);
    expect(why.get('services.web.command')).toEqual({ file: join(folder, 'skillbox.yaml'), line: 5 });
    expect(why.get('services.web.healthcheck.url')).toEqual({ file: join(folder, 'skillbox.yaml'), line: 8 });
    expect(why.get('variables.RUN')).toEqual({ file: join(folder, '.env'), line: 2 });
  });

  it('has another hash when a file it is made of changes', () => {
    const first = loadGraph(box('repos: []'), none).configHash;
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(loadGraph(box('repos: []'), none).configHash).toBe(first);
    const seen = [first];
    for (const change of [
      () => box('repos: [{id: a, path: a}]'),
      () => box('repos: []', { files: { '.env': 'A=1' } }),
      () => box('repos: []', { overlay: '' }),
    ]) {
      const { configHash } = loadGraph(change(), none);
      expect(seen).not.toContain(configHash);
      seen.push(configHash);
    }
  });

  it('a client that is not there is refused with those that are', () => {
    const error = thrownBy(() => loadGraph(box('', { overlay: '' }), { client: 'acmee', profiles: [] }));
    expect(error).toMatchObject({ code: 'client_not_found', hint: 'Did you mean acme?', details: { clients: ['acme'] } });
  });
});

function thrownBy(action: () => unknown): BoxError {
  try {
    action();
  } catch (error) {
    if (error instanceof BoxError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
