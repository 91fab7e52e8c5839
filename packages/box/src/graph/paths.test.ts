import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { createPathMap } from './paths.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'paths-')));
afterAll(() => rmSync(folder, { recursive: true }));
const config = (env: Record<string, string> = {}) => loadConfig({ cwd: folder, env });
const map = createPathMap(config(), { paths: {} });
const state = (path: string) => join(folder, '.skillbox-state', path);

describe('the mapping of paths', () => {
  it.each([
    ['/workspace', 'workspace', true],
    ['/workspace/', 'workspace', true],
    ['/workspace/repos/app', 'workspace/repos/app', true],
    ['/workspace/logs/repos/x', 'workspace/logs/repos/x', true],
    ['/workspace/logs/runtime/runtime.log', 'logs/runtime/runtime.log', false],
    ['/workspace/logs/services/web.log', 'logs/services/web.log', false],
    ['/workspace/workspace/clients/acme/plans', 'clients/acme/plans', false],
    ['/workspace/workspace', 'workspace/workspace', true],
    ['/home/sandbox/.claude', 'home/.claude', true],
    ['/monoserver/a/../b', 'monoserver/b', true],
  ])('%s is %s of the state root', (path, hostPath, inside) => {
    const place = map.place(path, '/elsewhere');
    expect(place).toEqual({ path: path.replace('a/../', '').replace(/\/$/, ''), hostPath: state(hostPath), inside });
    expect(map.fromHost(place.hostPath)).toEqual(place);
  });

  it.each(['/workspaces', '/workspace-2/x', '/home/sandboxed', '/monoserver/../srv', '/'])('%s is a path of the host', (path) => {
    expect(map.place(path, '/elsewhere')).toEqual({ path: normalize(path), hostPath: normalize(path), inside: false });
  });

  it('a relative path starts from the folder of its file', () => {
    expect(map.place('../x', join(folder, 'deep'))).toEqual({ path: join(folder, 'x'), hostPath: join(folder, 'x'), inside: false });
    expect(map.place('x', state('monoserver/a'))).toEqual({ path: '/monoserver/a/x', hostPath: state('monoserver/a/x'), inside: true });
  });

  it('a link of the host that leads inside is inside', () => {
    mkdirSync(state('monoserver/real'), { recursive: true });
    symlinkSync(state('monoserver/real'), join(folder, 'link'));
    expect(map.place('link/file', folder)).toEqual({
      path: '/monoserver/real/file',
      hostPath: state('monoserver/real/file'),
      inside: true,
    });
  });

  it('roots come from variables first, then from the manifest', () => {
    const moved = createPathMap(config({ SKILLBOX_MONOSERVER_ROOT: '/mono', SKILLBOX_MONOSERVER_HOST_ROOT: 'trees' }), {
      paths: { monoserver_root: '/other', workspace_root: '/work' },
    });
    expect(moved.place('/mono/a', '/')).toEqual({ path: '/mono/a', hostPath: join(folder, 'trees/a'), inside: true });
    expect(moved.place('/work/logs/x', '/').hostPath).toBe(state('workspace/logs/x'));
    expect(moved.place('/other/a', '/').inside).toBe(false);
  });

  const part = fc.stringMatching(/^[a-z.]{1,3}$/);
  const roots = map.mounts.flatMap(({ path, hostPath }) => [path, hostPath]);
  const anyPath = fc
    .tuple(fc.constantFrom('/', '/srv', '/workspace/workspace', folder, ...roots), fc.array(part, { maxLength: 4 }))
    .map(([root, parts]) => join(root, ...parts));

  it('there and back is the same place, whatever the path', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const place = map.place(path, '/elsewhere');
        expect(map.place(place.path, '/elsewhere')).toEqual(place);
        expect(map.fromHost(place.hostPath)).toEqual(place);
        // Below a root that may be written it is inside, unless a nearer root says otherwise.
        const nearest = [...map.mounts]
          .filter(({ hostPath }) => place.hostPath === hostPath || place.hostPath.startsWith(`${hostPath}/`))
          .sort((one, other) => other.hostPath.length - one.hostPath.length)[0];
        expect(place.inside).toBe(nearest?.writable ?? false);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a root in another root', () => {
  const made = (env: Record<string, string>) => createPathMap(config(env), { paths: {} });
  const inWorkspace = state('workspace/code');

  it('is refused under another name: those inside could put a link in its place', () => {
    expect(() => made({ SKILLBOX_MONOSERVER_HOST_ROOT: inWorkspace })).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringMatching(/^SKILLBOX_MONOSERVER_HOST_ROOT: .* at \/workspace\/code and at \/monoserver\.$/),
        hint: expect.stringContaining('Set SKILLBOX_MONOSERVER_ROOT to /workspace/code'),
      }),
    );
    expect(() => made({ SKILLBOX_REPOS_ROOT: '/code' })).toThrow(/^SKILLBOX_REPOS_HOST_ROOT: /);
  });

  it('is refused when only a link leads there', () => {
    mkdirSync(inWorkspace, { recursive: true });
    symlinkSync(inWorkspace, join(folder, 'aside'));
    expect(() => made({ SKILLBOX_MONOSERVER_HOST_ROOT: 'aside' })).toThrow(/^SKILLBOX_MONOSERVER_HOST_ROOT: /);
  });

  it('is fine where the other shows it, and so are two names of one folder', () => {
    expect(made({ SKILLBOX_REPOS_ROOT: '/code', SKILLBOX_REPOS_HOST_ROOT: 'trees' }).place('/code/a', '/').inside).toBe(true);
    expect(
      made({ SKILLBOX_MONOSERVER_ROOT: '/workspace/code', SKILLBOX_MONOSERVER_HOST_ROOT: inWorkspace }).place('/workspace/code/a', '/'),
    ).toEqual({ path: '/workspace/code/a', hostPath: join(inWorkspace, 'a'), inside: true });
    expect(made({ SKILLBOX_MONOSERVER_HOST_ROOT: 'trees', SKILLBOX_HOME_HOST_ROOT: 'trees' }).mounts).toHaveLength(9);
  });
});

describe('roots in the workspace', () => {
  it.each(['workspace', '/', '//', '/usr/local', '/etc', '/tmp/x', '/proc', '/sandbox', '/work/../etc', '/./x'])(
    '%s is refused',
    (path) => {
      expect(() => config({ SKILLBOX_WORKSPACE_ROOT: path })).toThrow(/SKILLBOX_WORKSPACE_ROOT is not usable/);
    },
  );
  it.each(['/workspace', '/work', '/home/agent', '/srv/box', '/usrlocal'])('%s is fine', (path) => {
    expect(config({ SKILLBOX_WORKSPACE_ROOT: path }).workspaceRoot).toBe(path);
  });
});
