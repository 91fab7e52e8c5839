/** The TypeScript SDK as somebody gets it: installed offline, in a browser's bundle, and everything its README shows. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBox } from '../support/box.ts';
import { codeBlocks, repository, runProgram, startBoxWithExamples } from './programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-typescript-'));
const project = join(folder, 'project');
let box: TestBox;

beforeAll(async () => {
  mkdirSync(project);
  // Else npm looks for a project further up.
  writeFileSync(join(project, 'package.json'), '{"private": true, "type": "module"}');
  box = await startBoxWithExamples('my-team');
});

afterAll(async () => {
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('from a checkout, without a network', () => {
  it('the archive that npm packs installs, brings nothing else, and has its types', async () => {
    const packed = await runProgram('npm', ['pack', '--pack-destination', folder], { cwd: join(repository, 'packages/sdk') });
    expect(packed).toMatchObject({ code: 0 });
    await install(join(folder, packed.stdout.trim().split('\n').at(-1) ?? ''));
    const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as { packages: Record<string, unknown> };
    expect(Object.keys(lock.packages)).toEqual(['', 'node_modules/@skillbox/sdk']);
    writeFileSync(
      join(project, 'typed.ts'),
      `import { Client } from '@skillbox/sdk';
const client = new Client('http://localhost:8080', 'k');
export const mean: Promise<number> = client.run<{ mean: number }>('data-analysis').then(({ output }) => output.mean);
// @ts-expect-error there is no such state
void client.sandboxes.list({ state: 'asleep' });
`,
    );
    const compiler = join(repository, 'node_modules/typescript/bin/tsc');
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom', 'typed.ts'];
    expect(await runProgram(process.execPath, [compiler, ...flags], { cwd: project })).toMatchObject({ code: 0, stdout: '' });
  }, 90_000);

  it('the one command that README says installs it, and everything that README shows works', async () => {
    rmSync(join(project, 'node_modules'), { recursive: true, force: true });
    await install(join(repository, 'packages/sdk'));
    const outputs: string[] = [];
    const blocks = codeBlocks('packages/sdk/README.md', 'js', box);
    for (const [index, block] of blocks.entries()) {
      writeFileSync(join(project, `${index}.mjs`), block);
      const { code, stdout, stderr } = await runProgram(process.execPath, [`${index}.mjs`], { cwd: project });
      expect(`${code} ${stderr} ${block}`).toMatch(/^0 /);
      outputs.push(stdout);
    }
    const [discover, tenant, follow, sandbox, environment, errors] = outputs;
    expect(discover).toMatch(/data-analysis: .+row_count: 5.+mean: 3/s);
    expect(tenant).toContain("summary: 'Long text here...'");
    expect(follow).toMatch(/status running\nstdout Counted the words\.\n.*status success\n\{\s+total_words: 6/s);
    expect(sandbox).toMatch(/hello from .*hello\.py\nexit code 0\ntyped in\n/);
    expect(environment).toMatch(/sync: planned, Would sync.*\ntrue\n$/s);
    expect(errors).toMatch(/^404 skill_not_found .+ [0-9a-f-]{36}\nTimeoutError\n$/);
    expect(outputs).toHaveLength(6);
  }, 90_000);
});

describe('in a browser', () => {
  const bundled = async (source: string): Promise<string> => {
    const { outputFiles } = await build({
      stdin: { contents: source, resolveDir: repository, loader: 'ts' },
      ...{
        bundle: true,
        platform: 'browser',
        format: 'esm',
        target: 'es2022',
        minify: true,
        splitting: true,
        outdir: folder,
        write: false,
      },
    });
    return outputFiles.map(({ text }) => text).join('\n');
  };

  it('it is small, and asks nothing of Node', async () => {
    const code = await bundled(`import { Client } from '@skillbox/sdk'; globalThis.client = new Client(location.origin);`);
    expect(code).not.toMatch(/node:|require\(|process\./);
    expect(code).toContain('A browser has no folders.');
    expect(gzipSync(code).length).toBeLessThan(10_000);
  });

  it('what is not used is left out', async () => {
    const code = await bundled(`import { zip } from '@skillbox/sdk'; globalThis.zip = zip;`);
    expect(code).not.toContain('/v1/');
    expect(gzipSync(code).length).toBeLessThan(1500);
  });
});

async function install(what: string): Promise<void> {
  const { code, stderr } = await runProgram('npm', ['install', '--offline', '--no-audit', '--no-fund', what], { cwd: project });
  expect(`${code} ${stderr}`).toMatch(/^0 /);
}
