import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { type FindingCode, findingKinds } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import { checkManifest, checkManifestFile, loadManifest } from './load.ts';

const programs = ['/usr/bin/python3', '/usr/bin/node', '/usr/bin/bash', '/home/ada/bin/node', '/srv/bin/node', '/opt/shim/bin/node'];
const links: Record<string, string> = {
  '/opt/shim/bin/node': '/home/ada/.nvm/bin/node',
  '/opt/link': '/etc/ssl',
  '/opt/data': '/opt/data',
};
const files: HostFiles = {
  homes: ['/home', '/root', '/users/box'],
  realPath: (path) => links[path] ?? (programs.includes(path) ? path : undefined),
  isProgram: (path) => programs.includes(path),
};
const context = { stateRoot: '/srv/box/.skillbox-state', maxConcurrentExecs: 10, files };
const check = (text: string) => checkManifest(text, 'skillbox.yaml', context);

interface Bad {
  code: FindingCode;
  text: string;
  line: number;
  column?: number;
  path?: string;
  /** A word the fix must contain, so that following it leads to `mended`. */
  fix: string;
  mended: string;
}

const v1 = 'version: 1\n';
const interpreter = (path: string) => `${v1}sandbox:\n  interpreters:\n    node: ${path}\n`;
const paths = (...list: string[]) => `${v1}sandbox:\n  paths:\n${list.map((path) => `    - ${path}\n`).join('')}`;
const accept = (...layers: string[]) => `${v1}sandbox:\n  accept_missing: [${layers.join(', ')}]\n`;
const tenant = (name: string, limits: string) => `${v1}tenants:\n  ${name}:\n    ${limits}\n`;

const forbiddenPath = (path: string): Bad => ({
  code: 'manifest.path_forbidden',
  text: paths('/opt/data', path),
  line: 5,
  path: 'sandbox.paths[1]',
  fix: '/opt/data',
  mended: paths('/opt/data'),
});
const privateInterpreter = (path: string): Bad => ({
  code: 'manifest.interpreter_private',
  text: interpreter(path),
  line: 4,
  fix: 'Install it for all users',
  mended: interpreter('/usr/bin/node'),
});

const bad: Bad[] = [
  { code: 'manifest.too_large', text: `${v1}# ${'x'.repeat(1_100_000)}`, line: 1, fix: 'Remove', mended: v1 },
  { code: 'manifest.syntax', text: `${v1}name: "box\n`, line: 3, fix: 'closed quotes', mended: `${v1}name: "box"\n` },
  { code: 'manifest.syntax', text: `${v1}sandbox:\n\tpaths: []\n`, line: 3, fix: 'by spaces', mended: `${v1}sandbox:\n  paths: []\n` },
  { code: 'manifest.syntax', text: `${v1}name: !secret box\n`, line: 2, fix: 'YAML', mended: `${v1}name: box\n` },
  { code: 'manifest.syntax', text: `${v1}---\nversion: 1\n`, line: 2, fix: 'YAML', mended: v1 },
  { code: 'manifest.syntax', text: `${v1}name: *nobody\n`, line: 2, fix: 'YAML', mended: `${v1}name: box\n` },
  { code: 'manifest.syntax', text: `${v1}? [a]\n: 1\n`, line: 2, fix: 'YAML', mended: v1 },
  { code: 'manifest.syntax', text: `${v1}name: ${'['.repeat(5000)}\n`, line: 2, fix: 'brackets', mended: v1 },
  { code: 'manifest.duplicate_key', text: `${v1}name: a\nname: b\n`, line: 3, path: 'name', fix: 'Remove one', mended: `${v1}name: b\n` },
  {
    code: 'manifest.duplicate_key',
    text: `${tenant('acme', 'slots: 1')}  acme: {}\n`,
    line: 5,
    column: 3,
    path: 'tenants.acme',
    fix: 'Remove one',
    mended: tenant('acme', 'slots: 1'),
  },
  { code: 'manifest.version_missing', text: '', line: 1, fix: 'version: 1', mended: v1 },
  { code: 'manifest.version_missing', text: '# mine\nname: box\n', line: 2, fix: 'version: 1', mended: `${v1}name: box\n` },
  { code: 'manifest.version_unsupported', text: 'version: 2\n', line: 1, column: 10, path: 'version', fix: 'version: 1', mended: v1 },
  { code: 'manifest.version_unsupported', text: 'version: "1"\n', line: 1, fix: 'version: 1', mended: v1 },
  {
    code: 'manifest.unknown_key',
    text: `${v1}tenant: {}\n`,
    line: 2,
    column: 1,
    path: 'tenant',
    fix: 'tenants',
    mended: `${v1}tenants: {}\n`,
  },
  { code: 'manifest.unknown_key', text: `${v1}colour: red\n`, line: 2, fix: 'known here: version, name, sandbox, tenants', mended: v1 },
  { code: 'manifest.unknown_key', text: `${v1}__proto__: {}\n`, line: 2, fix: 'Remove it', mended: v1 },
  { code: 'manifest.unknown_key', text: tenant('__proto__', 'slots: 1'), line: 3, path: 'tenants.__proto__', fix: 'Remove it', mended: v1 },
  {
    code: 'manifest.unknown_key',
    text: interpreter('/usr/bin/node').replace('node:', 'nodes:'),
    line: 4,
    column: 5,
    path: 'sandbox.interpreters.nodes',
    fix: 'node',
    mended: interpreter('/usr/bin/node'),
  },
  {
    code: 'manifest.unknown_key',
    text: tenant('acme', 'slot: 1'),
    line: 4,
    path: 'tenants.acme.slot',
    fix: 'slots',
    mended: tenant('acme', 'slots: 1'),
  },
  { code: 'manifest.wrong_type', text: '- version: 1\n', line: 1, path: '', fix: 'kind', mended: v1 },
  { code: 'manifest.wrong_type', text: `${v1}name: 7\n`, line: 2, column: 7, path: 'name', fix: 'kind', mended: `${v1}name: "7"\n` },
  { code: 'manifest.wrong_type', text: `${v1}sandbox:\n`, line: 2, path: 'sandbox', fix: 'kind', mended: `${v1}sandbox: {}\n` },
  { code: 'manifest.wrong_type', text: `${v1}sandbox:\n  paths: /opt/data\n`, line: 3, fix: 'kind', mended: paths('/opt/data') },
  { code: 'manifest.wrong_type', text: tenant('acme', 'slots: many'), line: 4, fix: 'kind', mended: tenant('acme', 'slots: 4') },
  { code: 'manifest.wrong_type', text: tenant('acme', 'slots: 1.5'), line: 4, fix: 'kind', mended: tenant('acme', 'slots: 2') },
  { code: 'manifest.wrong_type', text: tenant('acme', 'storage: [5Gi]'), line: 4, fix: 'kind', mended: tenant('acme', 'storage: 5Gi') },
  {
    code: 'manifest.unknown_value',
    text: accept('cgroup-memroy'),
    line: 3,
    column: 20,
    path: 'sandbox.accept_missing[0]',
    fix: 'cgroup-memory',
    mended: accept('cgroup-memory'),
  },
  { code: 'manifest.bad_value', text: tenant('acme', 'slots: 0'), line: 4, fix: 'range', mended: tenant('acme', 'slots: 1') },
  {
    code: 'manifest.bad_value',
    text: tenant('acme', 'requests_per_second: -1'),
    line: 4,
    fix: 'range',
    mended: tenant('acme', 'requests_per_second: 1'),
  },
  { code: 'manifest.bad_name', text: `${v1}name: My Box\n`, line: 2, path: 'name', fix: 'lower-case', mended: `${v1}name: my-box\n` },
  {
    code: 'manifest.bad_name',
    text: tenant('Acme!', 'slots: 1'),
    line: 3,
    column: 3,
    path: 'tenants.Acme!',
    fix: 'lower-case',
    mended: tenant('acme', 'slots: 1'),
  },
  {
    code: 'manifest.bad_size',
    text: tenant('acme', 'storage: lots'),
    line: 4,
    column: 14,
    fix: '5Gi',
    mended: tenant('acme', 'storage: 5Gi'),
  },
  { code: 'manifest.bad_path', text: interpreter('bin/node'), line: 4, fix: 'from / on', mended: interpreter('/usr/bin/node') },
  { code: 'manifest.bad_path', text: paths('~/data'), line: 4, fix: 'from / on', mended: paths('/opt/data') },
  { code: 'manifest.bad_path', text: paths('"/opt/\\0data"'), line: 4, fix: 'from / on', mended: paths('/opt/data') },
  {
    code: 'manifest.layer_required',
    text: accept('uid', 'seccomp'),
    line: 3,
    path: 'sandbox.accept_missing[1]',
    fix: 'Remove it',
    mended: accept('uid'),
  },
  { code: 'manifest.layer_required', text: accept('user-namespace'), line: 3, fix: 'Remove it', mended: accept() },
  {
    code: 'manifest.interpreter_missing',
    text: interpreter('/usr/bin/nope'),
    line: 4,
    column: 11,
    fix: 'correct the path',
    mended: interpreter('/usr/bin/node'),
  },
  privateInterpreter('/home/ada/bin/node'),
  privateInterpreter('/opt/shim/bin/node'),
  // Beside it lies the state root, which would come into view with its installation folder.
  privateInterpreter('/srv/bin/node'),
  { code: 'manifest.path_missing', text: paths('/opt/absent'), line: 4, fix: 'Create it', mended: paths('/opt/data') },
  ...[
    '/',
    '/home/ada/data',
    '/root',
    '/etc/ssl',
    '/proc/self',
    '/sys',
    '/dev/shm',
    '/run/user',
    '/var/lib',
    '/tmp/data',
    '/sandbox',
    '/users/box/data',
    '/users',
    '/srv',
    '/srv/box/.skillbox-state/blobs',
    '/opt/../etc',
    '/opt/link',
  ].map(forbiddenPath),
  { code: 'manifest.repeated_item', text: paths('/opt/data', '/opt/data'), line: 5, fix: 'Remove one', mended: paths('/opt/data') },
  {
    code: 'manifest.template_contradicts',
    text: `${v1}templates:\n  ours:\n    ttl:\n      default: 2h\n      max: 1h\n`,
    line: 5,
    fix: 'Change one',
    mended: `${v1}templates:\n  ours:\n    ttl:\n      default: 30m\n      max: 1h\n`,
  },
  {
    code: 'manifest.template_contradicts',
    text: `${v1}workspace:\n  network:\n    allow: [example.org]\n`,
    line: 4,
    fix: 'Change one',
    mended: `${v1}workspace:\n  network:\n    mode: allow\n    allow: [example.org]\n`,
  },
  {
    code: 'manifest.image_missing',
    text: `${v1}workspace:\n  provider: docker\n`,
    line: 3,
    fix: 'Add workspace.image',
    mended: `${v1}workspace:\n  provider: docker\n  image: debian:12\n`,
  },
  {
    code: 'manifest.slots_above_host',
    text: tenant('acme', 'slots: 11'),
    line: 4,
    fix: 'Lower slots',
    mended: tenant('acme', 'slots: 10'),
  },
];

describe('bad manifests', () => {
  it.each(bad)('$code in $text', ({ code, text, line, column, path, fix, mended }) => {
    const { manifest, findings } = check(text);
    const finding = findings.find((each) => each.code === code);
    expect(finding, JSON.stringify(findings)).toMatchObject({ severity: findingKinds[code].severity, file: 'skillbox.yaml', line });
    if (column !== undefined) expect(finding?.column).toBe(column);
    if (path !== undefined) expect(finding?.path).toBe(path);
    expect(finding?.fix).toContain(fix);
    expect(manifest === undefined).toBe(findings.some((each) => each.severity === 'error'));
    expect(check(mended)).toMatchObject({ manifest: { version: 1 }, findings: [] });
  });

  it('every code of the manifest has a row above; those of the graph are in graph/load.test.ts', () => {
    expect(new Set(bad.map(({ code }) => code))).toEqual(new Set(Object.keys(findingKinds).filter((code) => code.startsWith('manifest.'))));
  });

  it('all that is wrong is said at once, in the order of the file', () => {
    const { findings } = check('name: 7\nsandbox:\n  path: []\nname: b\ntenants: {A: {}}\n');
    expect(findings.map(({ line, code }) => `${line} ${code}`)).toEqual([
      '1 manifest.version_missing',
      '3 manifest.unknown_key',
      '4 manifest.duplicate_key',
      '5 manifest.bad_name',
    ]);
  });
});

describe('good manifests', () => {
  it('fills in defaults', () => {
    expect(check(v1).manifest).toEqual({
      version: 1,
      sandbox: { interpreters: {}, accept_missing: [], paths: [] },
      tenants: {},
      templates: {},
      webhooks: {},
      workspace: { agent_user: 'sandbox', provider: 'bubblewrap', ports: {}, paths: {} },
      selection: { default_profiles: [] },
      graph: {
        ...{ repos: [], artifacts: [], env_files: [], skills: [], tasks: [], services: [], logs: [], checks: [], bridges: [] },
        ...{ parity_ledger: [], connectors: [] },
      },
    });
  });

  it('turns sizes into bytes', () => {
    expect(check(tenant('acme', 'storage: 2Gi')).manifest?.tenants.acme).toEqual({ storage: 2 ** 31 });
    expect(check(tenant('acme', 'storage: 1024')).manifest?.tenants.acme).toEqual({ storage: 1024 });
  });

  it('finds no tenant that is not declared, whatever its name', () => {
    expect(check(v1).manifest?.tenants.constructor).toBeUndefined();
    expect(check(tenant('constructor', 'slots: 1')).manifest?.tenants.constructor).toEqual({ slots: 1 });
  });

  it('takes anchors and aliases', () => {
    const text = `${v1}tenants:\n  a: &limits {slots: 2}\n  b: *limits\n`;
    expect(check(text).manifest?.tenants).toEqual({ a: { slots: 2 }, b: { slots: 2 } });
  });

  it('a warning does not refuse the manifest', () => {
    expect(check(tenant('acme', 'slots: 11'))).toMatchObject({ manifest: { version: 1 }, findings: [{ severity: 'warning' }] });
  });
});

describe('loadManifest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'manifest-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const config = (manifest: string | undefined) => ({ manifest, stateRoot: join(folder, '.skillbox-state'), maxConcurrentExecs: 10 });
  const written = (text: string) => {
    writeFileSync(join(folder, 'skillbox.yaml'), text);
    return config(join(folder, 'skillbox.yaml'));
  };

  it('without a file the defaults are the manifest', () => {
    expect(loadManifest(config(undefined))).toEqual(check(v1).manifest);
  });

  it('tells what it warns of, and loads all the same', () => {
    const said: string[] = [];
    const text = '{version: 1, sandbox: {paths: [/usr/share, /usr/share]}}';
    expect(loadManifest(written(text), (warning) => void said.push(warning)).sandbox.paths).toHaveLength(2);
    expect(said).toEqual([expect.stringContaining('manifest.repeated_item')]);
  });

  it('asks the real machine', () => {
    const text = '{version: 1, sandbox: {interpreters: {bash: /bin/sh}, paths: [/usr/share]}}';
    expect(loadManifest(written(text)).sandbox).toMatchObject({ interpreters: { bash: '/bin/sh' }, paths: ['/usr/share'] });
    const absent = checkManifestFile(written('{version: 1, sandbox: {interpreters: {bash: /usr/bin/no-such}, paths: [/usr/no-such]}}'));
    expect(absent.findings.map(({ code }) => code)).toEqual(['manifest.interpreter_missing', 'manifest.path_missing']);
    expect(checkManifestFile(written('{version: 1, sandbox: {interpreters: {bash: /usr/share}}}')).manifest).toBeUndefined();
  });

  it('throws one error that lists file, place, code, message and fix', () => {
    const broken = written('version: 1\ntenant: {}\nnmae: x\n');
    const error = thrownBy(() => loadManifest(broken));
    expect(error).toMatchObject({ code: 'manifest_invalid', details: { findings: [{ line: 2 }, { line: 3 }] } });
    expect(error.message).toBe(
      `${broken.manifest}:2:1 manifest.unknown_key unknown key tenant — Did you mean tenants?\n` +
        `${broken.manifest}:3:1 manifest.unknown_key unknown key nmae — Did you mean name?`,
    );
  });

  it('says so when the file is gone or is none', () => {
    expect(thrownBy(() => loadManifest(config(join(folder, 'gone.yaml'))))).toMatchObject({ code: 'manifest_invalid' });
    expect(thrownBy(() => loadManifest(config(folder)))).toMatchObject({ code: 'manifest_invalid' });
  });
});

describe('whatever the file holds', () => {
  const words = [
    'version',
    'name',
    'sandbox',
    'tenants',
    'paths',
    'interpreters',
    ': ',
    ':\n',
    '- ',
    '\n',
    '  ',
    '1',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
  ];
  const marks = [
    '&a ',
    '*a',
    '!t ',
    '|\n',
    '>\n',
    '? ',
    '%',
    '---\n',
    '...\n',
    '#',
    '\t',
    '\0',
    '\u2028',
    '<<: ',
    ',',
    '~',
    '__proto__',
    '/etc',
  ];
  const soup = fc.array(fc.constantFrom(...words, ...marks), { maxLength: 60 }).map((parts) => parts.join(''));
  const structured = fc.json({ maxDepth: 6 });
  const nearMiss = fc
    .record(
      {
        version: fc.constantFrom(1, 2, '1'),
        name: fc.string(),
        sandbox: fc.record({ paths: fc.array(fc.string()), accept_missing: fc.anything() }, { requiredKeys: [] }),
        tenants: fc.dictionary(fc.string(), fc.record({ slots: fc.double(), storage: fc.string() }, { requiredKeys: [] })),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? Number(item) : item)));

  it('the answer is findings or a manifest, within the text, and soon', () => {
    fc.assert(
      fc.property(fc.oneof(soup, structured, nearMiss, fc.string({ unit: 'binary' })), (text) => {
        const before = performance.now();
        const { manifest, findings } = check(text);
        expect(performance.now() - before).toBeLessThan(5000);
        expect(manifest === undefined).toBe(findings.some(({ severity }) => severity === 'error'));
        const lines = text.split('\n').length;
        for (const { line, column, fix } of findings) expect([line >= 1, line <= lines + 1, column >= 1, fix !== '']).not.toContain(false);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['brackets', '['.repeat(200_000)],
    ['dashes', '- '.repeat(100_000)],
    ['question marks', '? '.repeat(100_000)],
    ['colons', ': '.repeat(100_000)],
    ['aliases that multiply', `a: &a [x]\n${Array.from({ length: 30 }, (_, n) => `a${n}: &a [*a, *a, *a, *a]`).join('\n')}`],
    ['a loop', '&a {version: 1, sandbox: *a}'],
    ['unknown keys', Array.from({ length: 30_000 }, (_, n) => `k${n}:`).join('\n')],
    ['equal keys', 'k:\n'.repeat(80_000)],
    ['documents', '---\n'.repeat(60_000)],
    ['errors', '"'.repeat(200_000)],
  ])('a file full of %s is refused soon', (_, text) => {
    const before = performance.now();
    const { manifest, findings } = check(text);
    expect(performance.now() - before).toBeLessThan(15_000);
    expect(manifest).toBeUndefined();
    expect(findings.length).toBeGreaterThan(0);
    expect(findings.length).toBeLessThanOrEqual(100);
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
