/** Dependencies of skills with real packages: the real installers, from the index that each of them has by itself. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { builtDependencies, pythonAnswer, skillFiles } from '../support/skills.ts';

const limit = 150_000;
let box: TestBox;
beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_QUEUE_TIMEOUT: '100s' });
});
afterAll(() => box.stop());

const logOf = async (name: string): Promise<string> => (await box.request(`/v1/skills/${name}/latest/build`)).text();
const six = 'six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274\n';

it(
  'installs requirements.txt after the push, native code too, and a run waits for it',
  async () => {
    const code =
      'import six, markupsafe\nfrom markupsafe import _speedups\nvalue = [six.__version__, markupsafe.__file__, _speedups.__file__]';
    const files = { 'requirements.txt': 'six==1.17.0\nmarkupsafe==3.0.2\n', 'main.py': pythonAnswer(code) };
    const pushed = await box.push(skillFiles('waits', 'python', files));
    expect(pushed).toMatchObject({ status: 201, body: { dependencies: { kind: 'python', state: 'building', error: null } } });

    const run = await box.run('waits');
    expect(run.error).toBeNull();
    expect(run.output).toEqual(['1.17.0', '/sandbox/deps/markupsafe/__init__.py', expect.stringMatching(/^\/sandbox\/deps\/.*\.so$/)]);
    expect(run.queued_ms).toBeGreaterThan(0);
    expect(await builtDependencies(box, 'waits')).toMatchObject({ state: 'available', error: null, files: expect.any(Number) });
    expect(await logOf('waits')).toContain('Successfully installed');
    expect((await box.run('waits')).queued_ms).toBe(0);
  },
  limit,
);

it(
  'installs what has the hash that stands beside it, and nothing else',
  async () => {
    const main = { 'main.py': pythonAnswer('import six\nvalue = six.__cached__') };
    await box.push(skillFiles('hashed', 'python', { ...main, 'requirements.txt': six }));
    // What was compiled while it was installed is used: a run could not write it.
    expect((await box.run('hashed')).output).toMatch(/^\/sandbox\/deps\/__pycache__\/six\..*\.pyc$/);

    await box.push(skillFiles('wrong-hash', 'python', { ...main, 'requirements.txt': six.replace('4721', '0000') }));
    expect(await builtDependencies(box, 'wrong-hash')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('installer ended with 1'),
    });
    expect(await logOf('wrong-hash')).toContain('THESE PACKAGES DO NOT MATCH THE HASHES');
    // Where one has a hash, all must.
    await box.push(skillFiles('half-hashed', 'python', { ...main, 'requirements.txt': `${six}markupsafe==3.0.2\n` }));
    expect(await builtDependencies(box, 'half-hashed')).toMatchObject({ state: 'failed', error: expect.stringMatching(/hash/i) });
  },
  limit,
);

it(
  'says why a run cannot be when there is no such package',
  async () => {
    const name = `no-such-package-${'x'.repeat(20)}`;
    await box.push(skillFiles('missing', 'python', { 'requirements.txt': `${name}==1.0\n`, 'main.py': 'pass' }));
    expect(await builtDependencies(box, 'missing')).toMatchObject({ state: 'failed', error: expect.stringContaining(name) });
    const { status, body } = await box.json('/v1/executions', { body: { skill: 'missing' } });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: {
        error: 'dependencies_failed',
        message: expect.stringContaining(name),
        hint: expect.stringContaining('skillbox skill build-log missing'),
      },
    });
  },
  limit,
);

it(
  'installs package-lock.json, for import and for require, with the programs of packages',
  async () => {
    const manifest = JSON.stringify({ dependencies: { 'is-odd': '3.0.1', semver: '7.6.3' } });
    const files = { 'package.json': manifest, 'package-lock.json': lockFor(manifest) };
    const main = `
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import isOdd from 'is-odd';
const require = createRequire(import.meta.url);
const printed = execFileSync('semver', ['1.2.3', '-i', 'minor']).toString().trim();
const value = [isOdd(3), require('is-odd')(4), require.resolve('is-number'), printed];
writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify(value));
`;
    await box.push(skillFiles('odd', 'node', { ...files, 'main.mjs': main }, 'entrypoint: main.mjs'));
    const run = await box.run('odd');
    expect(run.error).toBeNull();
    expect(run.output).toEqual([true, false, expect.stringMatching(/^\/sandbox\/node_modules\/.*is-number/), '1.3.0']);
    expect(await builtDependencies(box, 'odd')).toMatchObject({ kind: 'node', state: 'available' });
  },
  limit,
);

it(
  'refuses a lock file that is not that of package.json',
  async () => {
    const lock = lockFor('{"dependencies":{"is-odd":"3.0.1"}}');
    const files = { 'package.json': '{"dependencies":{"is-odd":"3.0.1","semver":"7.6.3"}}', 'package-lock.json': lock, 'main.js': '' };
    await box.push(skillFiles('out-of-step', 'node', files));
    expect(await builtDependencies(box, 'out-of-step')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('installer ended with 1'),
    });
    expect(await logOf('out-of-step')).toMatch(/Missing: semver@7\.6\.3 from lock file/);
  },
  limit,
);

it(
  'runs the example of docs/skills.md',
  async () => {
    const docs = readFileSync(join(import.meta.dirname, '../../docs/skills.md'), 'utf8');
    const section = docs.slice(docs.indexOf('\n## Dependencies\n'), docs.indexOf('\n## Environment\n'));
    const files = Object.fromEntries([...section.matchAll(/```\w+ file=(\S+)\n(.*?)```/gs)].map(([, path, text]) => [path, text ?? '']));
    expect((await box.push(files)).status).toBe(201);
    expect((await box.run('slug', { input: { title: 'Été à Nice' } })).output).toEqual({ slug: 'ete-a-nice' });
  },
  limit,
);

/** As an author makes it. */
function lockFor(manifest: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-lock-'));
  try {
    writeFileSync(join(folder, 'package.json'), manifest);
    execFileSync('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' });
    return readFileSync(join(folder, 'package-lock.json'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
