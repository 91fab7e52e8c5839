import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openProgram } from './program.ts';

let folder: string;
let built: string;
const shown = (...parts: string[]): string => join(folder, 'shown', ...parts);
const open = (more: { node?: string } = {}) => openProgram(shown(), { built, ...more });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-program-'));
  built = join(folder, 'dist');
  mkdirSync(join(built, 'native'), { recursive: true });
  for (const name of ['cli.js', 'cli.js.map', 'chunk-A.js', 'help.json', 'notes.txt']) writeFileSync(join(built, name), `// ${name}\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('shows the modules of the command line and nothing beside them, readable for everybody', () => {
  const before = process.umask(0o077);
  try {
    expect(open({ node: process.execPath }).map(({ at }) => at)).toEqual(['/opt/skillbox', '/opt/skillbox/node']);
  } finally {
    process.umask(before);
  }
  expect(readdirSync(shown('lib')).sort()).toEqual(['chunk-A.js', 'cli.js', 'help.json', 'package.json']);
  expect(['', 'lib', 'bin'].map((name) => statSync(shown(name)).mode & 0o777)).toEqual([0o755, 0o755, 0o755]);
  expect([statSync(shown('lib/cli.js')).mode & 0o777, statSync(shown('bin/skillbox')).mode & 0o777]).toEqual([0o644, 0o755]);
});

it('follows a new build in place, so that a workspace that is there sees it', () => {
  open();
  const [folderBefore, kept] = [statSync(shown('lib')).ino, statSync(shown('lib/help.json')).mtimeMs];
  writeFileSync(join(built, 'cli.js'), '// newer\n');
  rmSync(join(built, 'chunk-A.js'));
  writeFileSync(join(built, 'chunk-B.js'), '');
  open();
  expect(readFileSync(shown('lib/cli.js'), 'utf8')).toBe('// newer\n');
  expect([existsSync(shown('lib/chunk-A.js')), existsSync(shown('lib/chunk-B.js'))]).toEqual([false, true]);
  expect([statSync(shown('lib')).ino, statSync(shown('lib/help.json')).mtimeMs]).toEqual([folderBefore, kept]);
});

it('does without a node that is gone, and without a build', () => {
  expect(open({ node: join(folder, 'gone') }).map(({ at }) => at)).toEqual(['/opt/skillbox']);
  rmSync(built, { recursive: true });
  open();
  expect(readdirSync(shown('lib'))).toEqual(['package.json']);
});

it('starts it with the node that runs: its own, else that of the PATH, and says so when there is none', () => {
  open();
  // At another path than inside, and with a command line that tells what it was given.
  const wrapper = readFileSync(shown('bin/skillbox'), 'utf8').replace('program=/opt/skillbox', `program=${shown()}`);
  writeFileSync(shown('bin/skillbox'), wrapper);
  writeFileSync(
    shown('lib/cli.js'),
    'console.log(process.argv.slice(2).join(), process.env.SKILLBOX_INSIDE, process.env.SKILLBOX_SERVER_URL);\n',
  );
  const run = (env: Record<string, string>) => spawnSync('/bin/sh', [shown('bin/skillbox'), 'a', 'b c'], { env, encoding: 'utf8' });
  const empty = join(folder, 'bin');
  mkdirSync(empty);
  expect(run({ PATH: empty })).toMatchObject({ status: 127, stdout: '', stderr: expect.stringContaining('there is no node') });
  const url = 'http://127.0.0.1:3128/graph';
  execFileSync('ln', ['-s', process.execPath, join(empty, 'node')]);
  expect(run({ PATH: empty }).stdout).toBe(`a,b c ${url} ${url}\n`);
  rmSync(join(empty, 'node'));
  writeFileSync(shown('node'), `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
  chmodSync(shown('node'), 0o755);
  expect(run({ PATH: empty, SKILLBOX_SERVER_URL: 'http://elsewhere' }).stdout).toBe(`a,b c ${url} http://elsewhere\n`);
  rmSync(shown('lib/cli.js'));
  expect(run({ PATH: empty })).toMatchObject({ status: 127, stderr: expect.stringContaining('not been built') });
});
