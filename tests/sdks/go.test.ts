/** The Go SDK: installs offline, passes its own tests against a box, and everything its README shows works. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBox } from '../support/box.ts';
import { codeBlocks, installed, offlineGo, registryRoutes, repository, routesIn, runProgram, startBoxWithExamples } from './programs.ts';

it('has a method for every route, and none for a route there is not', () => {
  const source = readFileSync(join(repository, 'sdks/go/skillbox.go'), 'utf8');
  expect(routesIn(source)).toEqual(registryRoutes());
});

const go = installed('go');

describe.skipIf(!go)('with Go', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-go-'));
  let box: TestBox;

  beforeAll(async () => {
    box = await startBoxWithExamples('my-team');
  });

  afterAll(async () => {
    await box?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is formatted, and passes its own tests, alone and against a box', async () => {
    const options = { cwd: join(repository, 'sdks/go'), timeout: 110_000 };
    const formatted = await runProgram(join(String(go), '../gofmt'), ['-l', '.'], options);
    expect(formatted).toMatchObject({ code: 0, stdout: '' });
    const env = { ...offlineGo, SKILLBOX_URL: box.url, SKILLBOX_API_KEY: box.key };
    // With go vet, and not from a cache that knows nothing of the box.
    const { code, stdout, stderr } = await runProgram(String(go), ['test', '-count=1', '-v', '.'], { ...options, env });
    expect(`${code} ${stderr} ${stdout}`).toMatch(/^0 /);
    expect(stdout).not.toContain('SKIP');
  });

  it('installs from a checkout with the line of its README, and everything that stands there works', async () => {
    const env = { ...offlineGo };
    const [install = ''] = codeBlocks('sdks/go/README.md', 'bash', box);
    expect((await runProgram(String(go), ['mod', 'init', 'example.test/agent'], { cwd: folder, env })).code).toBe(0);
    const line = install.replaceAll('/path/to/skillbox', repository).replaceAll('go ', `${go} `).replaceAll(`sdks/${go}`, 'sdks/go');
    expect(await runProgram('bash', ['-euc', line], { cwd: folder, env })).toMatchObject({ code: 0 });
    const blocks = codeBlocks('sdks/go/README.md', 'go', box);
    expect(blocks.length).toBe(4);
    for (const [index, block] of blocks.entries()) {
      mkdirSync(join(folder, `b${index}`));
      writeFileSync(join(folder, `b${index}/main.go`), block);
    }
    expect(await runProgram(String(go), ['build', '-o', `${folder}/bin/`, './...'], { cwd: folder, env, timeout: 110_000 })).toMatchObject({
      code: 0,
    });
    const [run, follow, sandbox, errors] = await Promise.all(
      blocks.map((_block, index) => runProgram(`${folder}/bin/b${index}`, [], { cwd: folder })),
    );
    expect(run?.stdout).toMatch(/^success \{.*"summary": ?"Long text here\.\.\."/);
    expect(follow?.stdout).toMatch(/status running\nstdout Counted the words\.\n.*status success\n$/s);
    expect(sandbox?.stdout).toMatch(/^hello from .*hello\.py\nexit code 0\n$/);
    expect(errors?.stdout).toMatch(/^404 skill_not_found .+ [0-9a-f-]{36}\n$/);
  });
});
