/** git as the host runs it: nothing that a repository holds can make it start another program, ask somebody or wait for ever. */

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import { inheritedEnv } from '../../config.ts';

/** For every call, whatever the configuration says. */
export const gitFlags = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.pager=cat',
  'core.askPass=',
  'core.alternateRefsCommand=',
  'protocol.ext.allow=never',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
  'init.defaultBranch=main',
  'safe.directory=*',
].flatMap((setting) => ['-c', setting]);

/** Without the configuration of user and machine: for work that needs no network. */
export const localGitEnv: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'file',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_ATTR_NOSYSTEM: '1',
  LC_ALL: 'C',
  HOME: '/nonexistent',
  PATH: '/usr/local/bin:/usr/bin:/bin',
};

/** With the operator's own configuration, for it knows the keys and proxies; only for repositories that nobody else can write. */
export function remoteGitEnv(): NodeJS.ProcessEnv {
  const own = inheritedEnv();
  // What would lead this call to another repository than the one it is for.
  const { GIT_DIR: _1, GIT_WORK_TREE: _2, GIT_INDEX_FILE: _3, GIT_OBJECT_DIRECTORY: _4, GIT_NAMESPACE: _5, ...env } = own;
  return {
    ...env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    GIT_SSH_COMMAND: env.GIT_SSH_COMMAND ?? 'ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=3',
    GIT_HTTP_LOW_SPEED_LIMIT: '1000',
    GIT_HTTP_LOW_SPEED_TIME: '30',
    LC_ALL: 'C',
  };
}

export interface GitRun {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Told what it says of its progress. */
  readonly onProgress?: (text: string) => void;
}

export interface GitResult {
  readonly exit: number;
  readonly stdout: string;
  /** What it complained of, without addresses' passwords. */
  readonly complaint: string;
}

const maxOutput = 16 * 2 ** 20;
const maxComplaint = 4000;

/** Does not throw for an exit that is not 0: what that means, the caller knows. */
export function git(args: readonly string[], run: GitRun): Promise<GitResult> {
  return runBounded('git', [...gitFlags, ...args], run);
}

export function runBounded(
  program: string,
  args: readonly string[],
  { cwd, env, onProgress, signal, timeoutMs }: GitRun,
): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    // A group of its own: what git starts ends with it.
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const stdout: Buffer[] = [];
    let bytes = 0;
    let complaint = '';
    let cut: string | undefined;
    const end = (why: string): void => {
      cut ??= why;
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        // It has ended already.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    };
    const timer = setTimeout(() => end(`it took more than ${Math.round(timeoutMs / 1000)} s`), timeoutMs);
    const abort = (): void => end('it was interrupted');
    signal.addEventListener('abort', abort, { once: true });
    child.stdout.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > maxOutput) end('it said too much');
      else stdout.push(part);
    });
    child.stderr.on('data', (part: Buffer) => {
      const text = part.toString();
      const percent = /([A-Z][a-z]+ objects|Updating files|Resolving deltas):\s+\d+%/.exec(text)?.[0];
      if (percent) onProgress?.(percent.replace(/\s+/g, ' '));
      complaint = (complaint + text).slice(-maxComplaint);
    });
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      settle();
      if (error.code === 'ENOENT')
        reject(new BoxError('command_missing', 'git is not installed.', { hint: 'sudo apt-get install -y git' }));
      else reject(error);
    });
    child.once('close', (exit) => {
      settle();
      if (signal.aborted) reject(signal.reason);
      else resolve({ exit: exit ?? -1, stdout: Buffer.concat(stdout).toString(), complaint: cut ?? lastComplaint(complaint) });
    });
  });
}

/** Another git is at work there: one that outlived a sync that was killed, or somebody's own. It ends soon, or has died and left its lock. */
export async function whileLocked<T extends { readonly locked: boolean }>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let turn = 0; ; turn += 1) {
    const result = await attempt();
    if (!result.locked || turn === lockTurns) return result;
    await sleep(lockPauseMs, undefined, { signal });
  }
}

const lockTurns = 15;
const lockPauseMs = 200;

export const isLockComplaint = (text: string): boolean => /\.lock': File exists|cannot lock ref|Another git process/i.test(text);

/** The lines that say why; progress is none. */
function lastComplaint(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => withoutPassword(line.trim()))
    .filter(
      (line) => line !== '' && !/^(remote: )?(Enumerating|Counting|Compressing|Receiving|Resolving|Updating|Cloning into)/.test(line),
    );
  const why = lines.filter((line) => /^(fatal|error|ssh|remote|ERROR|Host key|Permission)/.test(line));
  return (why.length > 0 ? why : lines).slice(-3).join(' ') || 'it did not say why';
}

/** What may be shown and kept in trees: an address without the password in it. */
export const withoutPassword = (text: string): string =>
  text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/gi, (all, scheme: string) =>
    /^ssh/i.test(scheme) && !all.slice(scheme.length).includes(':') ? all : scheme,
  );
