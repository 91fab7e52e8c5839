import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../package-root.ts';
import { type GroundMount, groundOf, prepareGround } from './ground.ts';

let folder: string;
let stateRoot: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'skillbox-ground-')));
  stateRoot = join(folder, 'box', 'state');
  mkdirSync(stateRoot, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mount = (variable: string | undefined, path: string, hostPath: string, writable = true): GroundMount => ({
  ...{ variable, path, hostPath, writable },
});
const usual = (more: Readonly<Record<string, string>> = {}): GroundMount[] => [
  mount('SKILLBOX_WORKSPACE_ROOT', '/workspace', more.workspace ?? join(stateRoot, 'workspace')),
  mount('SKILLBOX_REPOS_ROOT', '/workspace/repos', more.repos ?? join(more.workspace ?? join(stateRoot, 'workspace'), 'repos')),
  mount('SKILLBOX_HOME_ROOT', '/home/sandbox', more.home ?? join(stateRoot, 'home')),
  mount('SKILLBOX_MONOSERVER_ROOT', '/monoserver', more.monoserver ?? join(stateRoot, 'monoserver')),
  mount('SKILLBOX_CLIENTS_ROOT', '/workspace/workspace/clients', more.clients ?? join(stateRoot, 'clients'), false),
  mount(undefined, '/workspace/logs/runtime', join(stateRoot, 'logs/runtime'), false),
];
const refusal = (more: Readonly<Record<string, string>>): string => {
  try {
    groundOf({ mounts: usual(more), stateRoot });
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing';
};

describe('the ground of the workspace', () => {
  it('binds each root once, and puts over it what lies elsewhere', () => {
    const ground = groundOf({ mounts: usual(), stateRoot });
    expect(ground.folders.map(({ at, host }) => [at, host])).toEqual([
      ['/workspace', join(stateRoot, 'workspace')],
      ['/monoserver', join(stateRoot, 'monoserver')],
      ['/home/sandbox', join(stateRoot, 'home')],
    ]);
    expect(ground.attached.map(({ path, access }) => [path, access])).toEqual([
      ['logs/runtime', 'read-own'],
      ['workspace/clients', 'read'],
    ]);
    expect(ground.made.map(({ path }) => path)).toEqual(['repos', '.claude', '.codex', '.local']);
  });

  it('puts repos from another folder of the host over their place', () => {
    const repos = join(folder, 'elsewhere');
    const { attached, made } = groundOf({ mounts: usual({ repos }), stateRoot });
    expect(attached).toContainEqual(expect.objectContaining({ host: repos, path: 'repos', access: 'write' }));
    expect(made.map(({ path }) => path)).not.toContain('repos');
  });

  it.each([
    ['the state root itself', () => stateRoot, 'contains the state root'],
    ['what contains the state root', () => folder, 'contains the state root'],
    ['a part of the state root', () => join(stateRoot, 'run'), 'no sandbox may see'],
    ['the keys of the box, by a link', () => join(folder, 'link'), 'no sandbox may see'],
    ['the overlays', () => join(stateRoot, 'clients', 'acme'), 'may only read'],
    ['the root of the host', () => '/', 'contains /etc'],
    ['settings of the host', () => '/etc/somewhere', 'part of /etc'],
    ['programs of the host', () => '/usr/share', 'part of /usr'],
    ['a home', () => homedir(), 'contains '],
    ['the program of the box', () => join(packageRoot(), 'dist'), 'the program of the box'],
  ])('refuses %s', (_what, host, why) => {
    symlinkSync(join(stateRoot, 'db'), join(folder, 'link'));
    mkdirSync(join(stateRoot, 'db'));
    expect(refusal({ monoserver: host() })).toContain(why);
    expect(refusal({ monoserver: host() })).toContain('SKILLBOX_MONOSERVER_HOST_ROOT');
  });

  it('refuses a folder whose way the inside could lead elsewhere', () => {
    expect(refusal({ repos: join(stateRoot, 'monoserver/repos') })).toContain('which the workspace can write');
    expect(refusal({ clients: join(stateRoot, 'workspace/overlays') })).toContain('which the workspace can write');
    expect(refusal({ home: join(stateRoot, 'workspace/home') })).toContain('which the workspace can write');
  });

  it('makes the folders, and gives away only what is the box’s own', () => {
    const foreign = join(folder, 'foreign');
    mkdirSync(foreign);
    const before = statSync(foreign).uid;
    const ground = groundOf({ mounts: usual({ monoserver: foreign }), stateRoot });
    const owner = process.getuid?.() === 0 ? 1_940_000_000 : undefined;
    mkdirSync(join(stateRoot, 'clients'), { mode: 0o700 });
    prepareGround(ground, stateRoot, owner);
    expect(statSync(join(stateRoot, 'workspace')).uid).toBe(owner ?? process.getuid?.());
    expect(statSync(foreign).uid).toBe(before);
    expect(statSync(join(stateRoot, 'clients')).mode & 0o777).toBe(0o755);
    expect(statSync(join(stateRoot, 'logs/runtime')).mode & 0o777).toBe(0o700);
  });
});
