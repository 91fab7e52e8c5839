/** The CLI as a process of its own: from source, or as it was built, which starts ten times faster. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';

export interface CliResult {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const root = join(import.meta.dirname, '../..');

export const builtCli = join(root, 'packages/box/bin/skillbox.js');
const source = ['scripts/run-ts.mjs', 'packages/box/src/cli/main.ts'].map((file) => join(root, file));

/** Whichever program these words name for Node. */
export const runProgram = (words: readonly string[], env: Record<string, string>): Promise<CliResult> => run(words, env, '');

export const main = (words: readonly string[], env: Record<string, string>, input = ''): Promise<CliResult> =>
  run([...source, ...words], env, input);
export const built = (words: readonly string[], env: Record<string, string>, input = ''): Promise<CliResult> =>
  run([builtCli, ...words], env, input);

/** Of a box that is down: sandboxes outlive it, and a test that removes its folder would leave them to the machine. */
export async function endSandboxes(skillbox: (...words: string[]) => Promise<Pick<CliResult, 'stdout'>>): Promise<void> {
  await skillbox('up', '--service', 'api');
  const { items } = JSON.parse((await skillbox('sandbox', 'list', '--json')).stdout) as { items: { id: string; state: string }[] };
  for (const { id } of items.filter(({ state }) => state !== 'destroyed')) await skillbox('sandbox', 'destroy', id);
  await skillbox('down');
}

function run(words: readonly string[], env: Record<string, string>, input: string): Promise<CliResult> {
  const child = spawn(process.execPath, words, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (bytes) => {
    stdout += bytes;
  });
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  return new Promise((resolve) => child.on('close', (exit) => resolve({ exit, stdout, stderr })));
}
