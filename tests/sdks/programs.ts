/** What the tests of SDKs in other languages share: a box with the example skills, code from their README, and a way to run it. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { packArchive, readFolder } from '../../packages/box/src/skills/archive.ts';
import { startTestBox, type TestBox } from '../support/box.ts';

export const repository = join(import.meta.dirname, '../..');
export const exampleSkills = ['data-analysis', 'text-summary', 'word-counter'];

/** The example skills are there for the tenant default, and for each of these. */
export async function startBoxWithExamples(...tenants: string[]): Promise<TestBox> {
  const box = await startTestBox();
  for (const name of exampleSkills) {
    const archive = await packArchive(await readFolder(join(repository, 'examples/skills', name), { maxBytes: 2 ** 20 }));
    for (const tenant of ['default', ...tenants]) {
      const headers = { 'Content-Type': 'application/zip', 'X-Tenant-ID': tenant };
      const { status } = await box.request('/v1/skills', { body: new Uint8Array(archive), headers });
      if (status !== 201) throw new Error(`${name} could not be pushed for ${tenant}: ${status}`);
    }
  }
  return box;
}

/** Code blocks of a page, with the address and the key of this box in place of those that stand there. */
export function codeBlocks(page: string, language: string, { url, key }: TestBox): string[] {
  const text = readFileSync(join(repository, page), 'utf8');
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1] as string);
  return blocks.map((block) => block.replaceAll('http://localhost:8080', url).replaceAll('sk-your-key', key));
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Not spawnSync: the box lives in this process. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd = repository, env = {}, timeout = 60_000 }: { cwd?: string; env?: Record<string, string>; timeout?: number } = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, timeout, maxBuffer: 2 ** 24 };
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({
        code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
        stdout,
        stderr: error ? stderr || error.message : stderr,
      }),
    );
    child.stdin?.end();
  });
}

/** Where a program is; undefined where it is not. */
export function installed(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/local/go/bin'];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

/** Go fetches nothing: no module, no other version of itself. */
export const offlineGo = { GOPROXY: 'off', GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local', GOWORK: 'off' };

/** Routes that stand in the source of an SDK, each once. */
export function routesIn(source: string): string[] {
  return [...new Set([...source.matchAll(/"((?:GET|POST|PUT|DELETE) \/[^"\s]+)"/g)].map((match) => match[1] as string))].sort();
}

/** Those there should be, written alike. */
export const registryRoutes = (): string[] =>
  commands.map(({ http }) => `${http.method} ${http.path.replace(/:(\w+)\*?/g, '{$1}')}`).sort();
