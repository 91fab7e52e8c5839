/** make examples: a box of its own, every example against it, one line each. */

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const names = readdirSync(join(root, 'examples')).filter((name) => existsSync(join(root, 'examples', name, 'run.sh')));

it('the list of examples names every folder, and no other', () => {
  const readme = readFileSync(join(root, 'examples/README.md'), 'utf8');
  const listed = [...readme.matchAll(/^\| \[([\w-]+)\]\(([^)]+)\) \|/gm)];
  expect(listed.map(([, name]) => name)).toEqual([...names].sort());
  expect(listed.filter(([, , path]) => !existsSync(join(root, 'examples', path ?? '')))).toEqual([]);
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).filter((name) => name !== 'skills' && !names.includes(name))).toEqual([]);
});

describe('all of them', () => {
  let lines: string[];

  beforeAll(async () => {
    const { SKILLBOX_URL: _url, SKILLBOX_API_KEY: _key, ...env } = process.env;
    const run = promisify(execFile)(join(root, 'scripts/examples.sh'), [], { env, timeout: 280_000 });
    const { stdout } = await run.catch((error: { stdout: string; stderr: string }) => ({ stdout: error.stdout + error.stderr }));
    lines = stdout.split('\n');
  }, 300_000);

  for (const name of names) {
    it(name, ({ skip }) => {
      const skipped = lines.find((line) => line.startsWith(`- ${name} was skipped`));
      if (skipped) skip(skipped);
      expect(
        lines.some((line) => line.startsWith(`✓ ${name} (`)),
        lines.join('\n'),
      ).toBe(true);
    });
  }
});
