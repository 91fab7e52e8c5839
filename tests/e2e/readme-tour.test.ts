/** Runs the tour in README as written, line by line, in a folder that looks like a checkout; only the port is another one. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
let folder: string;
let port: number;

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'packages/box/scripts/build.mjs')]);
  folder = mkdtempSync(join(tmpdir(), 'skillbox-tour-'));
  for (const name of ['examples', 'node_modules', 'packages']) symlinkSync(join(root, name), join(folder, name));
  port = await freePort();
  const up = skillbox('up');
  expect(up.stderr + up.stdout).toContain(String(port));
  for (const name of ['data-analysis', 'text-summary', 'word-counter'])
    expect(skillbox('skill', 'push', `examples/skills/${name}`).status).toBe(0);
});

afterAll(() => {
  skillbox('down');
  rmSync(folder, { recursive: true, force: true });
});

it('every line of the tour works', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const tour = readme.slice(readme.indexOf('<!-- tour'), readme.indexOf('<!-- /tour -->'));
  const script = [...tour.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1]).join('\n');
  expect(script.split('\n').length).toBeGreaterThan(10);
  const { status, stdout, stderr } = run('bash', ['-euo', 'pipefail', '-c', script.replaceAll('8080', String(port))]);
  expect(`${status} ${stderr}`).toMatch(/^0 /);
  expect(stdout).toContain('"status": "success"');
  expect(stdout).toContain('word-counter');
  expect(stdout).toContain('"summary"');
  expect(stdout).toContain('Ada');
  expect(stdout).toMatch(/sk-[0-9a-f]{48}/);
  expect(existsSync(join(folder, 'out', 'chart.svg'))).toBe(true);
});

function skillbox(...args: string[]) {
  return run(process.execPath, ['packages/box/bin/skillbox.js', ...args]);
}

function run(program: string, args: string[]) {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, SKILLBOX_API_PORT: String(port) };
  return spawnSync(program, args, { cwd: folder, env, encoding: 'utf8', timeout: 60_000 });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as AddressInfo;
      server.close(() => resolve(free));
    });
  });
}
