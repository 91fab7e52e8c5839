import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { loadGraph } from './load.ts';

const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(profiles: string[], more = '') {
  writeFileSync(
    join(folder, 'skillbox.yaml'),
    `version: 1
${more}graph:
  repos:
    - {id: always, path: a}
    - {id: app, path: b, profiles: [never]}
    - {id: tool, path: c, profiles: [never]}
  artifacts: [{id: binary, path: d, profiles: [never]}]
  logs: [{id: log, path: e, profiles: [never]}, {id: task-log, path: f, profiles: [never]}]
  env_files:
    - {id: named, path: g, profiles: [never], repo: tool}
    - {id: of-repo, path: h, repo: app, required: true, profiles: [local-core]}
    - {id: wished, path: i, repo: app, profiles: [local-core]}
  tasks:
    - {id: first, command: x, log: task-log, profiles: [never]}
    - {id: second, command: x, depends_on: [first], profiles: [never]}
  services:
    - {id: plain, command: x}
    - {id: cored, command: x, profiles: [core]}
    - {id: shown, command: x, profiles: [surfaces]}
    - {id: hub, command: x, profiles: [connectors, connectors-dev]}
    - {id: db, command: x, profiles: [local-core, local-back]}
    - {id: web, command: x, profiles: [local-core, local-front], repo: app, artifact: binary, log: log, env_files: [named], bootstrap_tasks: [second], depends_on: [auth]}
    - {id: auth, command: x, profiles: [never]}
`,
  );
  return loadGraph(loadConfig({ cwd: folder, env: {} }), { profiles });
}
const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id);
const always = ['api', 'plain', 'cored'];

describe('profiles', () => {
  it.each([
    [[], ['core'], always],
    [['core'], ['core'], always],
    [['surfaces'], ['core', 'surfaces'], [...always, 'shown']],
    [['connectors'], ['connectors', 'core'], [...always, 'hub']],
    [['connectors-dev'], ['connectors-dev', 'core'], [...always, 'hub']],
    [['local-core'], ['core', 'local-core'], [...always, 'db', 'web', 'auth']],
    [['local-back'], ['core', 'local-back'], [...always, 'db']],
    [['local-front'], ['core', 'local-front'], [...always, 'web', 'auth']],
    [['local-all'], ['core', 'local-all', 'local-back', 'local-core', 'local-front'], [...always, 'db', 'web', 'auth']],
    [
      ['surfaces', 'local-back'],
      ['core', 'local-back', 'surfaces'],
      [...always, 'shown', 'db'],
    ],
  ])('%j selects', (asked, active, services) => {
    const graph = load(asked);
    expect([...graph.profiles].sort()).toEqual([...active].sort());
    expect(graph.profiles[0]).toBe('core');
    expect(ids(graph.services)).toEqual(services);
  });

  it('what a selected service needs comes along, and nothing else', () => {
    expect(ids(load([]).repos)).toEqual(['always']);
    const graph = load(['local-front']);
    expect(ids(graph.repos)).toEqual(['always', 'app', 'tool']);
    expect(ids(graph.artifacts)).toEqual(['binary']);
    expect(ids(graph.logs)).toEqual(['log', 'task-log']);
    expect(ids(graph.tasks)).toEqual(['first', 'second']);
    expect(ids(graph.envFiles)).toEqual(['named']);
  });

  it('a service waits for the env files that its repo requires', () => {
    const web = (profiles: string[]) => load(profiles).services.find(({ id }) => id === 'web');
    expect(web(['local-front'])?.envFiles).toEqual(['named']);
    expect(web(['local-core'])?.envFiles).toEqual(['named', 'of-repo']);
  });

  it('an unknown one is refused with those there are', () => {
    expect(() => load(['local-fornt'])).toThrow(
      expect.objectContaining({
        code: 'LOCAL_RUNTIME_PROFILE_UNKNOWN',
        hint: 'Did you mean local-front?',
        message:
          'Nothing is declared for the profile local-fornt. There are: core, connectors, connectors-dev, local-all, local-back, local-core, local-front, never, surfaces.',
      }),
    );
  });

  it('defaults hold when none is named', () => {
    const defaults = 'selection: {default_profiles: [surfaces]}\n';
    expect(load([], defaults).profiles).toEqual(['core', 'surfaces']);
    expect(load(['local-back'], defaults).profiles).toEqual(['core', 'local-back']);
  });
});
