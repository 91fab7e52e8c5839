/** What installs dependencies on this host: the interpreter, its installer, and the index, asked of the tools themselves. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { DependencyKind } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import type { Interpreter } from '../../sandbox/provider.ts';

export interface Toolchain {
  readonly kind: DependencyKind;
  /** As the sandbox sees it. */
  readonly interpreter: string;
  /** npm's own program; pip is a module of the interpreter. */
  readonly npm?: string;
  /** What installed files depend on: version, ABI, machine. */
  readonly abi: string;
  readonly index: string;
  /** Where a build may go. */
  readonly hosts: readonly string[];
}

/** The line that mends it is part of the reason. */
export interface NoToolchain {
  readonly kind: DependencyKind;
  readonly reason: string;
  readonly fix: string;
}

export type IndexConfig = Pick<Config, 'pipIndex' | 'npmRegistry' | 'packageHosts'>;

/** Raised when the same lock would be installed differently. */
const builderVersion = 1;

const run = promisify(execFile);

export async function findToolchain(
  kind: DependencyKind,
  interpreter: Interpreter | undefined,
  config: IndexConfig,
): Promise<Toolchain | NoToolchain> {
  if (!interpreter) return { kind, reason: `This host has no ${kind} interpreter that a sandbox can use.`, fix: 'skillbox doctor' };
  try {
    return await (kind === 'python' ? findPip(interpreter, config) : findNpm(interpreter, config));
  } catch (error) {
    const [line = ''] = String((error as { stderr?: string }).stderr || (error as Error).message)
      .trim()
      .split('\n');
    return { kind, reason: `${interpreter.path} could not be asked what it installs with: ${line}`, fix: 'skillbox doctor' };
  }
}

export const isUsable = (found: Toolchain | NoToolchain): found is Toolchain => 'index' in found;

/**
 * One tenant's: what an index gives for a lock without hashes, and what install scripts make of it, is nobody else's business.
 */
export function buildKey(tenant: string, lock: string, { kind, interpreter, abi, index, hosts }: Toolchain): string {
  return createHash('sha256')
    .update(JSON.stringify([builderVersion, tenant, lock, kind, interpreter, abi, index, hosts]))
    .digest('hex');
}

const askPip = `
import json, sysconfig
facts = {"abi": sysconfig.get_config_var("SOABI") or "", "platform": sysconfig.get_platform()}
try:
    import pip
    from pip._internal.models.index import PyPI
    facts.update(pip=pip.__version__, index=PyPI.simple_url, files=PyPI.file_storage_domain)
except ImportError:
    pass
print(json.dumps(facts))
`;

interface PipFacts {
  readonly abi: string;
  readonly platform: string;
  readonly pip?: string;
  readonly index?: string;
  readonly files?: string;
}

async function findPip({ path, version }: Interpreter, config: IndexConfig): Promise<Toolchain | NoToolchain> {
  const facts = JSON.parse(await ask(path, ['-I', '-c', askPip])) as PipFacts;
  if (facts.pip === undefined) return { kind: 'python', reason: `${path} has no pip.`, fix: 'sudo apt-get install -y python3-pip' };
  const index = config.pipIndex ?? facts.index;
  if (index === undefined) return { kind: 'python', reason: 'pip names no index of its own.', fix: 'Set SKILLBOX_PIP_INDEX.' };
  // Whoever chose an index knows where its files are; of its own one pip knows it.
  const more = config.pipIndex === undefined && facts.files !== undefined ? [facts.files] : [];
  return {
    ...{ kind: 'python', interpreter: path, index, hosts: hostsFor(index, more, config) },
    abi: `${version} ${facts.abi} ${facts.platform}`,
  };
}

async function findNpm({ path, version }: Interpreter, config: IndexConfig): Promise<Toolchain | NoToolchain> {
  const beside = join(dirname(path), 'npm');
  if (!existsSync(beside)) return { kind: 'node', reason: `There is no npm beside ${path}.`, fix: 'sudo apt-get install -y npm' };
  const npm = await realpath(beside);
  const index =
    config.npmRegistry ??
    (await ask(path, [npm, 'config', 'get', 'registry', '--userconfig=/nonexistent/user', '--globalconfig=/nonexistent/global'])).trim();
  return {
    ...{ kind: 'node', interpreter: path, npm, index, hosts: hostsFor(index, [], config) },
    abi: `${version} ${process.platform}-${process.arch}`,
  };
}

/** Nothing of the server's environment: it may point to another index, or hold a key. */
async function ask(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(program, args, {
    timeout: 20_000,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent', NO_UPDATE_NOTIFIER: '1' },
  });
  return stdout;
}

function hostsFor(index: string, more: readonly string[], { packageHosts }: IndexConfig): string[] {
  const { hostname, port } = new URL(index);
  const named = packageHosts
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');
  return [...new Set([port === '' ? hostname : `${hostname}:${port}`, ...more, ...named])];
}
