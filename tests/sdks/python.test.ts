/** The Python SDK: installs offline, passes its own tests against a box, and everything its README shows works. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBox } from '../support/box.ts';
import { codeBlocks, registryRoutes, repository, routesIn, runProgram, startBoxWithExamples } from './programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-python-'));
const python = '/usr/bin/python3';
let box: TestBox;

beforeAll(async () => {
  box = await startBoxWithExamples('my-team');
});

afterAll(async () => {
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('has a method for every route, and none for a route there is not', () => {
  const source = readFileSync(join(repository, 'sdks/python/skillbox/__init__.py'), 'utf8');
  expect(routesIn(source)).toEqual(registryRoutes());
});

it('passes its own tests, alone and against a box', async () => {
  const env = { SKILLBOX_URL: box.url, SKILLBOX_API_KEY: box.key };
  const { code, stderr } = await runProgram(python, ['-B', '-W', 'error', '-m', 'unittest'], { cwd: join(repository, 'sdks/python'), env });
  expect(`${code} ${stderr}`).toMatch(/^0 /);
  expect(stderr).not.toContain('skipped');
});

describe('from a checkout, without an index', () => {
  beforeAll(async () => {
    const args = [
      '-m',
      'pip',
      'install',
      '--no-index',
      '--no-cache-dir',
      '--disable-pip-version-check',
      '--target',
      folder,
      './sdks/python',
    ];
    const { code, stderr } = await runProgram(python, args, { env: { PIP_CONFIG_FILE: '/dev/null' } });
    expect(`${code} ${stderr}`).toMatch(/^0 /);
  });

  it('what is installed says what it is and brings its types', async () => {
    const script =
      'import importlib.metadata as m, skillbox, os; print(m.version("skillbox") == skillbox.__version__, os.listdir(os.path.dirname(skillbox.__file__)))';
    const { stdout } = await runProgram(python, ['-B', '-c', script], { cwd: folder, env: { PYTHONPATH: folder } });
    expect(stdout).toMatch(/^True /);
    expect(stdout).toContain('py.typed');
  });

  it('everything that README shows works', async () => {
    const blocks = codeBlocks('sdks/python/README.md', 'python', box);
    expect(blocks.length).toBeGreaterThan(5);
    const outputs = [];
    for (const block of blocks) {
      const { code, stdout, stderr } = await runProgram(python, ['-B', '-c', block], { cwd: folder, env: { PYTHONPATH: folder } });
      expect(`${code} ${stderr} ${block}`).toMatch(/^0 /);
      outputs.push(stdout);
    }
    const [discover, tenant, follow, sandbox, errors, cancel] = outputs;
    expect(discover).toMatch(/^data-analysis: .+'row_count': 5.+'mean': 3/s);
    expect(tenant).toContain("'summary': 'Long text here...'");
    expect(follow).toMatch(/status running\nstdout Counted the words\.\n.*status success\n\{'total_words': 6/s);
    expect(sandbox).toContain('hello from');
    expect(errors).toMatch(/^404 skill_not_found .+ [0-9a-f-]{36}\n$/);
    expect(cancel).toBe('given up\n');
  });
});
