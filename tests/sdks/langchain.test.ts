/** Skills as LangChain tools in Python. The example of it runs with the others. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { repository, runProgram } from './programs.ts';

const { status, stdout } = spawnSync(join(repository, 'examples/langchain-python/install.sh'), { encoding: 'utf8', timeout: 120_000 });

describe.skipIf(status === 77)('with LangChain', () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await startTestBox();
  });
  afterAll(() => box?.stop());

  it('passes its tests', async () => {
    const env = {
      SKILLBOX_URL: box.url,
      SKILLBOX_API_KEY: box.key,
      PYTHONPATH: `sdks/python:${stdout.trim()}`,
      LANGSMITH_TRACING: 'false',
    };
    const { code, stderr } = await runProgram('/usr/bin/python3', ['-B', 'tests/sdks/python/langchain_test.py'], { env });
    expect(`${code} ${stderr}`).toMatch(/^0 /);
    expect(stderr).toContain('Ran 5 tests');
  });
});
