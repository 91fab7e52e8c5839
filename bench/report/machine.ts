/** The machine of a run, and the versions of everything that takes part. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { languages } from '@skillbox/protocol';
import Sqlite from 'better-sqlite3';
import { postgresFolder } from '../../tests/support/postgres.ts';
import { findProgram } from '../../tests/support/programs.ts';
import type { BenchRun } from '../bench-run.ts';
import type { Machine } from './results.ts';

const root = join(import.meta.dirname, '../..');

export function describeMachine(): Machine {
  const system = /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  return {
    cpu: `${cpus()[0]?.model.trim() ?? 'unknown'} (${arch()})`,
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    system,
    kernel: release(),
    load: Number(loadavg()[0]?.toFixed(2)),
  };
}

/** Interpreters by their paths: the very binaries that sandboxes use and that are run plain. Of the rest, what is installed. */
export async function describeVersions({ skills, docker, sandboxRuntime }: BenchRun, asked: { docker: boolean; sandboxRuntime: boolean }) {
  const postgres = postgresFolder();
  const said: Record<string, string | undefined> = {
    ...Object.fromEntries(languages.map((lang) => [lang, `${skills[lang].interpreter.version} at \`${skills[lang].interpreter.path}\``])),
    'node of the server': process.versions.node,
    bubblewrap: versionOf('bwrap'),
    docker: asked.docker ? (await docker())?.version : undefined,
    '@anthropic-ai/sandbox-runtime': asked.sandboxRuntime ? (await sandboxRuntime())?.version : undefined,
    e2b: (JSON.parse(readFileSync(join(root, 'node_modules/e2b/package.json'), 'utf8')) as { version: string }).version,
    sqlite: new Sqlite(':memory:').prepare('select sqlite_version()').pluck().get() as string,
    postgres: postgres && /[\d.]+/.exec(execFileSync(join(postgres, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[0],
  };
  return Object.fromEntries(Object.entries(said).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** null outside a checkout; with a plus when files differ from it. */
export function commitOf(): string | null {
  try {
    const ask = (...words: string[]): string =>
      execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return `${ask('rev-parse', '--short', 'HEAD')}${ask('status', '--porcelain', '--', 'packages', 'bench') ? '+' : ''}`;
  } catch {
    // An archive of the source has no history: the figures are as good without it.
    return null;
  }
}

function versionOf(program: string): string | undefined {
  const path = findProgram(program);
  return path && /[\d.]+/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[0];
}
