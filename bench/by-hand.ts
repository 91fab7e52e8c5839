/** The bubblewrap command that Skillbox runs, started by hand: the same flags, the same filter, no server, no launcher, no guest. */

import { spawn } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bubblewrapArguments } from '../packages/box/src/sandbox/providers/bubblewrap/command.ts';
import { writeProviderFiles } from '../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import type { Architecture } from '../packages/box/src/sandbox/providers/bubblewrap/syscalls.ts';

const uid = 1_999_999_999;

export interface ByHand {
  run(): Promise<string>;
  remove(): void;
}

export function prepareByHand(program: readonly string[], skillFolder: string, input: string): ByHand {
  const stage = mkdtempSync(join(tmpdir(), 'skillbox-by-hand-'));
  const { filter } = writeProviderFiles(stage, process.arch as Architecture);
  for (const name of ['tmp', 'shm', 'work', 'work/scripts', 'work/input', 'work/out', 'work/out/files', 'guest'])
    mkdirSync(join(stage, name));
  for (const name of ['tmp', 'shm', 'work', 'work/out', 'work/out/files']) chownSync(join(stage, name), uid, uid);
  chownSync(stage, uid, uid);
  writeFileSync(join(stage, 'work', 'input.json'), input);
  const real = bubblewrapArguments({ bwrap: '/usr/bin/bwrap', extra: [] }).map((word) => {
    if (word === '/tmp/skill') return skillFolder;
    return word.startsWith('/tmp/') ? join(stage, word.slice('/tmp/'.length)) : word;
  });
  const flags = real.slice(1, real.lastIndexOf('--')).filter((word) => word !== '--as-pid-1');
  const env = [
    'PATH',
    '/usr/bin:/bin',
    'SANDBOX_INPUT',
    input,
    'SANDBOX_OUTPUT',
    '/sandbox/out/output.json',
    'SANDBOX_FILES_DIR',
    '/sandbox/out/files/',
  ];
  const settings = Array.from({ length: env.length / 2 }, (_, index) => [
    '--setenv',
    env[index * 2] ?? '',
    env[index * 2 + 1] ?? '',
  ]).flat();
  const args = [
    ...flags.map((word, index) => (flags[index - 1] === '--seccomp' ? '3' : word)),
    ...settings,
    '--chdir',
    '/sandbox',
    '--',
    ...program,
  ];
  return {
    async run() {
      const fd = openSync(filter, 'r');
      try {
        return await capture(args, fd);
      } finally {
        closeSync(fd);
      }
    },
    remove: () => rmSync(stage, { recursive: true, force: true }),
  };
}

function capture(args: string[], filter: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const identity = process.getuid?.() === 0 ? { uid, gid: uid } : {};
    const child = spawn('/usr/bin/bwrap', args, { stdio: ['ignore', 'pipe', 'pipe', filter], env: {}, cwd: '/', ...identity });
    let text = '';
    let problem = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      problem += chunk;
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`exit ${code}: ${problem}`))));
  });
}
