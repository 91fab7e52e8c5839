/** Finds interpreters a sandbox can use: real programs in system folders, never a shim in somebody's home. */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Language, languages } from '@skillbox/protocol';
import type { Interpreter } from '../../provider.ts';

const candidates: Record<Language, readonly string[]> = {
  python: ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/python/bin/python3'],
  node: ['/usr/bin/node', '/usr/local/bin/node', '/opt/node/bin/node'],
  bash: ['/usr/bin/bash', '/bin/bash', '/usr/local/bin/bash'],
};

/** Folders a sandbox never sees; an interpreter there would be a hole or a shim. */
const privateFolders = ['/home/', '/root/', '/tmp/', '/var/', '/run/', '/proc/', '/sys/', '/dev/', '/etc/'];

export interface FoundInterpreter extends Interpreter {
  /** Folder that must be visible inside besides /usr. */
  readonly mount: string | undefined;
}

export async function findInterpreters(named: Partial<Record<Language, string>>): Promise<Partial<Record<Language, FoundInterpreter>>> {
  const found: Partial<Record<Language, FoundInterpreter>> = {};
  await Promise.all(
    languages.map(async (language) => {
      const paths = named[language] ? [named[language]] : candidates[language];
      for (const path of paths) {
        const usable = await inspect(path);
        if (!usable) continue;
        found[language] = usable;
        return;
      }
    }),
  );
  return found;
}

async function inspect(path: string): Promise<FoundInterpreter | undefined> {
  try {
    const real = await realpath(path);
    if (privateFolders.some((folder) => real.startsWith(folder) || path.startsWith(folder))) return undefined;
    await access(real, constants.X_OK);
    if (((await stat(real)).mode & 0o005) !== 0o005) return undefined;
    const { stdout, stderr } = await promisify(execFile)(real, ['--version'], { timeout: 10_000, env: {} });
    const version = /\d+\.\d+(\.\d+)?/.exec(stdout || stderr)?.[0] ?? 'unknown';
    return { path: real, version, mount: mountFor(real) };
  } catch {
    // Not there, not executable or not answering: in each case not an interpreter we can use.
    return undefined;
  }
}

/** /opt/node/bin/node needs /opt/node; what lies in /usr is visible anyway, except /usr/local. */
function mountFor(real: string): string | undefined {
  if (real.startsWith('/usr/local/')) return '/usr/local';
  if (real.startsWith('/usr/') || real.startsWith('/bin/')) return undefined;
  const parent = real.split('/').slice(0, -2).join('/');
  return parent || undefined;
}
