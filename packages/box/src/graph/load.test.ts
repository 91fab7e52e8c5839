import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { type FindingCode, findingKinds } from '../manifest/finding.ts';
import { examineGraph, loadGraph } from './load.ts';

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

interface Bad {
  readonly code: FindingCode;
  readonly graph: string;
  readonly overlay?: string;
  readonly top?: string;
  /** Line of the finding, from the first line of the graph or of what follows the id of the client. */
  readonly line: number;
  readonly path: string;
  /** What the message or the fix must say. */
  readonly says: string;
}

const service = (id: string, more: string) => `  - {id: ${id}, command: run, ${more}}\n`;
const bad: Bad[] = [
  {
    code: 'graph.duplicate_id',
    graph: 'tasks:\n  - {id: a, command: x}\n  - {id: a, command: y}',
    line: 3,
    path: 'graph.tasks[1].id',
    says: 'first in',
  },
  {
    code: 'graph.duplicate_id',
    graph: 'logs: [{id: a, path: a}]',
    overlay: 'logs:\n  - {id: a, path: b}',
    line: 2,
    path: 'client.logs[0].id',
    says: 'first in',
  },
  {
    code: 'graph.duplicate_id',
    graph:
      'parity_ledger:\n  - {legacy_surface: sync.sh, ownership_state: deferred}\n  - {legacy_surface: sync.sh, ownership_state: covered}',
    line: 3,
    path: 'graph.parity_ledger[1].legacy_surface',
    says: 'twice',
  },
  {
    code: 'graph.reserved_id',
    graph: 'services:\n  - {id: api, command: x}',
    line: 2,
    path: 'graph.services[0].id',
    says: 'server of the box',
  },
  {
    code: 'graph.reserved_id',
    graph: 'logs: []',
    top: 'workspace: {ports: {api: 1}}\n',
    line: -1,
    path: 'workspace.ports.api',
    says: 'SKILLBOX_API_PORT',
  },
  {
    code: 'graph.duplicate_path',
    graph: 'repos:\n  - {id: a, path: /monoserver/x}\n  - {id: b, path: /monoserver/y/../x}',
    line: 3,
    path: 'graph.repos[1].path',
    says: 'that of a',
  },
  {
    code: 'graph.duplicate_path',
    graph: 'artifacts: [{id: a, path: x}]\nenv_files: [{id: b, path: ./x}]',
    line: 2,
    path: 'graph.env_files[0].path',
    says: 'that of a',
  },
  ...(['repo', 'artifact', 'log'] as const).map(
    (field): Bad => ({
      code: 'graph.unknown_reference',
      graph: `services:\n${service('a', `${field}: nope`)}`,
      line: 2,
      path: `graph.services[0].${field}`,
      says: 'nope',
    }),
  ),
  ...(['depends_on', 'bootstrap_tasks', 'env_files'] as const).map(
    (field): Bad => ({
      code: 'graph.unknown_reference',
      graph: `services:\n${service('a', `${field}: [nope]`)}`,
      line: 2,
      path: `graph.services[0].${field}[0]`,
      says: 'nope',
    }),
  ),
  {
    code: 'graph.unknown_reference',
    graph: 'tasks:\n  - {id: build, command: x}\n  - {id: run, command: x, depends_on: [biuld]}',
    line: 3,
    path: 'graph.tasks[1].depends_on[0]',
    says: 'Did you mean build?',
  },
  {
    code: 'graph.unknown_reference',
    graph: 'env_files: [{id: a, path: x, repo: nope}]',
    line: 1,
    path: 'graph.env_files[0].repo',
    says: 'nope',
  },
  {
    code: 'graph.unknown_reference',
    graph: 'bridges: [{id: a, command: x, output_root: out, repo: nope}]',
    line: 1,
    path: 'graph.bridges[0].repo',
    says: 'nope',
  },
  {
    code: 'graph.unknown_reference',
    graph: 'parity_ledger: [{legacy_surface: a, ownership_state: bridge-only, bridge_dependency: nope}]',
    line: 1,
    path: 'graph.parity_ledger[0].bridge_dependency',
    says: 'nope',
  },
  {
    code: 'graph.cycle',
    graph: `services:\n${service('a', 'depends_on: [b]')}${service('b', 'depends_on: [c]')}${service('c', 'depends_on: [a]')}`,
    line: 4,
    path: 'graph.services[2].depends_on[0]',
    says: 'a → b → c → a',
  },
  {
    code: 'graph.cycle',
    graph: 'tasks: [{id: a, command: x, depends_on: [a]}]',
    line: 1,
    path: 'graph.tasks[0].depends_on[0]',
    says: 'a needs itself',
  },
  ...[
    ['repos', '{id: a, path: x, source: {kind: git}}', 'source', 'source.url'],
    ['artifacts', '{id: a, path: x, source: {kind: url}}', 'source', 'source.url'],
    ['artifacts', '{id: a, path: x, source: {kind: file}}', 'source', 'source.path'],
    ['env_files', '{id: a, path: x, source: {kind: file}}', 'source', 'source.path'],
    ['tasks', '{id: a, command: x, success: {type: path_exists}}', 'success', 'needs path'],
    ['tasks', '{id: a, command: x, success: {type: port_listening}}', 'success', 'needs port'],
    ['tasks', '{id: a, command: x, success: {type: all_outputs_exist}}', 'success', 'needs outputs'],
    ['services', '{id: a, command: x, healthcheck: {type: http}}', 'healthcheck', 'needs url'],
    ['services', '{id: a, command: x, healthcheck: {type: port}}', 'healthcheck', 'needs port'],
    ['services', '{id: a, command: x, healthcheck: {type: path_exists}}', 'healthcheck', 'needs path'],
    ['services', '{id: a, command: x, healthcheck: {type: command}}', 'healthcheck', 'needs command'],
  ].map(
    ([section = '', item = '', field = '', says = '']): Bad => ({
      code: 'graph.field_missing',
      graph: `${section}:\n  - ${item}`,
      line: 2,
      path: `graph.${section}[0].${field}`,
      says,
    }),
  ),
  ...['path_exists', 'command', 'http', 'port'].map(
    (type): Bad => ({
      code: 'graph.field_missing',
      graph: `checks: [{id: a, type: ${type}}]`,
      line: 1,
      path: 'graph.checks[0]',
      says: `${type} needs`,
    }),
  ),
  {
    code: 'graph.contradiction',
    graph: 'services: [{id: a, command: x, commands: {prod: y}}]',
    line: 1,
    path: 'graph.services[0].commands',
    says: 'not both',
  },
  {
    code: 'graph.contradiction',
    graph: 'repos: [{id: a, path: x, sync: {mode: clone-if-missing}}]',
    line: 1,
    path: 'graph.repos[0].sync.mode',
    says: 'git source',
  },
  {
    code: 'graph.contradiction',
    graph: `artifacts: [{id: a, path: x, source: {path: y}, sync: {mode: download-if-missing}}]`,
    line: 1,
    path: 'graph.artifacts[0].sync.mode',
    says: 'kind file',
  },
  {
    code: 'graph.contradiction',
    graph: 'env_files: [{id: a, path: x, sync: {mode: write}}]',
    line: 1,
    path: 'graph.env_files[0].sync.mode',
    says: 'source.path',
  },
  {
    code: 'graph.sha256_missing',
    graph: 'artifacts:\n  - id: a\n    path: x\n    source: {url: "https://example.org/a"}',
    line: 4,
    path: 'graph.artifacts[0].source',
    says: 'sha256sum',
  },
  {
    code: 'graph.unknown_placeholder',
    graph: 'repos:\n  - id: a\n    path: ${SKILLBOX_REPO_ROOT}/a',
    line: 3,
    path: 'graph.repos[0].path',
    says: 'Did you mean ${SKILLBOX_REPOS_ROOT}?',
  },
  {
    code: 'graph.unknown_placeholder',
    graph: 'repos: []',
    overlay: 'context:\n  url: ${NOBODY_SET_THIS_ONE}',
    line: 2,
    path: 'client.context.url',
    says: 'NOBODY_SET_THIS_ONE=',
  },
  {
    code: 'graph.secret_misplaced',
    graph: 'services: [{id: a, command: "run --token ${MY_TOKEN}"}]',
    line: 1,
    path: 'graph.services[0].command',
    says: '$NAME',
  },
  {
    code: 'graph.secret_misplaced',
    graph: 'services: [{id: a, command: x, env: {A: "${SKILLBOX_SECRET_KEY}"}}]',
    line: 1,
    path: 'graph.services[0].env.A',
    says: 'of the box itself',
  },
  {
    code: 'graph.secret_written',
    graph: 'services:\n  - {id: a, command: x, env: {API_TOKEN: abcdef}}',
    line: 2,
    path: 'graph.services[0].env.API_TOKEN',
    says: 'API_TOKEN: ${API_TOKEN}',
  },
  {
    code: 'graph.secret_written',
    graph: 'repos: [{id: a, path: x, source: {url: "https://me:pass@example.org/x.git"}}]',
    line: 1,
    path: 'graph.repos[0].source.url',
    says: 'password',
  },
  {
    code: 'graph.bad_value',
    graph: 'services: [{id: a, command: x, ports: ["${NOT_A_PORT}"]}]',
    line: 1,
    path: 'graph.services[0].ports[0]',
    says: 'not a port',
  },
  {
    code: 'graph.bad_value',
    graph: 'services: [{id: a, command: x, healthcheck: {type: http, url: nowhere}}]',
    line: 1,
    path: 'graph.services[0].healthcheck.url',
    says: 'address of http',
  },
  { code: 'graph.bad_value', graph: 'repos: [{id: a, path: "${BLANK}"}]', line: 1, path: 'graph.repos[0].path', says: 'empty' },
  {
    code: 'graph.bad_value',
    graph: 'env_files: [{id: a, path: x, mode: "0644"}]',
    line: 1,
    path: 'graph.env_files[0].mode',
    says: '"0600"',
  },
  {
    code: 'graph.bad_value',
    graph: 'env_files: [{id: a, path: x, mode: private}]',
    line: 1,
    path: 'graph.env_files[0].mode',
    says: '"0600"',
  },
  {
    code: 'graph.bad_value',
    graph: 'artifacts: [{id: a, path: x, source: {url: "https://e.org", sha256: "${BLANKISH}"}}]',
    line: 1,
    path: 'graph.artifacts[0].source.sha256',
    says: 'SHA-256',
  },
  {
    code: 'graph.bad_value',
    graph: 'env_files: [{id: a, path: x, source: {path: /monoserver/leak}}]',
    line: 1,
    path: 'graph.env_files[0].source.path',
    says: 'workspace may write',
  },
  {
    code: 'graph.bad_value',
    graph: 'artifacts: [{id: a, path: x, source: {path: /workspace/leak}}]',
    line: 1,
    path: 'graph.artifacts[0].source.path',
    says: 'workspace may write',
  },
  {
    code: 'graph.bad_value',
    graph: 'skills: [{id: a, clone_root: /home/sandbox/clones}]',
    line: 1,
    path: 'graph.skills[0].clone_root',
    says: 'workspace may write',
  },
  {
    code: 'graph.bad_retention',
    graph: 'logs: [{id: a, path: x, retention_days: 0}]',
    line: 1,
    path: 'graph.logs[0].retention_days',
    says: 'above 0',
  },
  {
    code: 'graph.template_unknown',
    graph: 'services: [{id: a, command: x, template: pyhton}]',
    line: 1,
    path: 'graph.services[0].template',
    says: 'Did you mean python?',
  },
  {
    code: 'graph.port_shared',
    graph: 'services:\n  - {id: a, command: x, ports: [3000]}\n  - {id: b, command: x, healthcheck: {type: port, port: 3000}}',
    line: 3,
    path: 'graph.services[1].ports',
    says: 'port 3000',
  },
  {
    code: 'graph.port_shared',
    graph: 'services: [{id: a, command: x, ports: [8080]}]',
    line: 1,
    path: 'graph.services[0].ports',
    says: 'a and api',
  },
  {
    code: 'graph.subset_broken',
    graph: 'services:\n  - {id: a, command: x, profiles: [local-core]}\n  - {id: b, command: x, profiles: [local-web]}',
    line: 3,
    path: 'graph.services[1].profiles',
    says: 'Add local-core',
  },
  {
    code: 'graph.subset_broken',
    graph: 'services:\n  - {id: a, command: x, profiles: [local-core, local-web]}',
    line: 2,
    path: 'graph.services[0].profiles',
    says: 'selects all that local-core does',
  },
  {
    code: 'graph.subset_broken',
    graph: 'services: [{id: a, command: x, profiles: [local-all]}]',
    line: 1,
    path: 'graph.services[0].profiles',
    says: 'Write local-core',
  },
  {
    code: 'graph.subset_broken',
    graph:
      'services:\n  - {id: a, command: x, profiles: [local-core, local-web]}\n  - {id: b, command: x, profiles: [local-core]}\nbridges:\n  - {id: x, command: x, output_root: out, profiles: [local-core]}',
    line: 2,
    path: 'graph.services[0].profiles',
    says: 'no bridge of its own',
  },
  {
    code: 'graph.subset_broken',
    graph:
      'services:\n  - {id: a, command: x, profiles: [local-core, local-web]}\n  - {id: b, command: x, profiles: [local-core]}\nbridges:\n  - {id: x, command: x, output_root: out, profiles: [local-core, local-web]}',
    line: 5,
    path: 'graph.bridges[0].profiles',
    says: 'serves both',
  },
  {
    code: 'graph.connector_unknown',
    graph: 'connectors: [github]',
    overlay: 'connectors: [github, slack]',
    line: 1,
    path: 'client.connectors[1]',
    says: 'it offers github',
  },
  {
    code: 'graph.client_mismatch',
    graph: 'repos: []',
    overlay: 'repos: [{id: a, path: x, client: other}]',
    line: 1,
    path: 'client.repos[0].client',
    says: 'other',
  },
  {
    code: 'graph.profile_unknown',
    graph: 'repos: []',
    top: 'selection: {default_profiles: [nope]}\n',
    line: -1,
    path: 'selection.default_profiles[0]',
    says: 'there are core',
  },
  {
    code: 'graph.client_unknown',
    graph: 'repos: []',
    top: 'selection: {default_client: nope}\n',
    line: -1,
    path: 'selection.default_client',
    says: 'There is no client nope',
  },
  {
    code: 'manifest.unknown_key',
    graph: 'services: [{id: a, comand: x}]',
    line: 1,
    path: 'graph.services[0].comand',
    says: 'Did you mean command?',
  },
  { code: 'manifest.unknown_key', graph: 'repos: []', overlay: 'lable: x', line: 1, path: 'client.lable', says: 'Did you mean label?' },
  {
    code: 'manifest.unknown_key',
    graph: 'repos: []',
    overlay: 'tasks:\n  - {id: a, command: x, output: [y]}',
    line: 2,
    path: 'client.tasks[0].output',
    says: 'Did you mean outputs?',
  },
  { code: 'manifest.bad_name', graph: 'services: [{id: Web App, command: x}]', line: 1, path: 'graph.services[0].id', says: 'lower-case' },
  {
    code: 'manifest.unknown_value',
    graph: 'services: [{id: a, healthcheck: {type: htpp}}]',
    line: 1,
    path: 'graph.services[0].healthcheck.type',
    says: 'Did you mean http?',
  },
  {
    code: 'manifest.bad_value',
    graph: 'services: [{id: a, start_timeout: soon}]',
    line: 1,
    path: 'graph.services[0].start_timeout',
    says: '30s',
  },
];

describe('bad graphs', () => {
  it.each(bad)('$code in $graph $overlay$top', ({ code, graph, overlay, top, line, path, says }) => {
    const config = box(graph, {
      ...(overlay !== undefined && { overlay }),
      ...(top !== undefined && { top }),
      env: { MY_TOKEN: 't', NOT_A_PORT: '70000', BLANK: '', BLANKISH: 'abc' },
    });
    const { findings, graph: loaded } = examineGraph(config, overlay === undefined ? none : acme);
    const finding = findings.find((each) => each.code === code && each.path === path);
    expect(finding, JSON.stringify(findings)).toMatchObject({ severity: findingKinds[code].severity, code, path });
    expect(finding?.file).toBe(path.startsWith('client') ? state('clients/acme/overlay.yaml') : join(folder, 'skillbox.yaml'));
    expect(finding?.line).toBe(line + (path.startsWith('client') ? 3 : top === undefined ? 2 : 3));
    expect(`${finding?.message} — ${finding?.fix}`).toContain(says);
    expect(loaded === undefined).toBe(findings.some(({ severity }) => severity === 'error'));
    if (!loaded)
      expect(thrownBy(() => loadGraph(config, overlay === undefined ? none : acme))).toMatchObject({
        code: 'graph_invalid',
        details: { findings },
      });
  });

  it('every code of the graph has a row above', () => {
    const raised = new Set(bad.map(({ code }) => code).filter((code) => code.startsWith('graph.')));
    expect(raised).toEqual(new Set(Object.keys(findingKinds).filter((code) => code.startsWith('graph.'))));
  });

  it('all that is wrong in both files is told at once', () => {
    const config = box('repos: [{id: a, path: "${NOPE_A}"}]\ntasks: [{id: a, command: x, depends_on: [b]}]', {
      overlay: 'connectors: [x]\nlogs: [{id: a, path: x, retention_days: -1}]',
    });
    expect(
      examineGraph(config, acme)
        .findings.map(({ code }) => code)
        .sort(),
    ).toEqual(['graph.bad_retention', 'graph.connector_unknown', 'graph.unknown_placeholder', 'graph.unknown_reference']);
  });

  it('an overlay whose folder has another name is refused', () => {
    const config = box('repos: []', { files: { '.skillbox-state/clients/beta/overlay.yaml': 'version: 1\nclient: {id: acme}\n' } });
    expect(examineGraph(config, { client: 'beta', profiles: [] }).findings).toMatchObject([
      { code: 'graph.client_mismatch', line: 2, path: 'client.id' },
    ]);
  });

  it.each([
    ['SKILLBOX_MONOSERVER_HOST_ROOT', '..', 'contains the manifest'],
    ['SKILLBOX_WORKSPACE_HOST_ROOT', '.', 'contains the manifest'],
    ['SKILLBOX_HOME_HOST_ROOT', '.skillbox-state', 'contains the state root'],
  ])('%s=%s would let the workspace write what the host trusts', (variable, value, says) => {
    const error = thrownBy(() => loadGraph(box('repos: []', { env: { [variable]: value } }), none));
    expect(error).toMatchObject({ code: 'config_invalid' });
    expect(error.message).toContain(says);
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
