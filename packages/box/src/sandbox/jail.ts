/**
 * A place to run one of the host's own programs over files that somebody hostile wrote: no network, nothing of the host but /usr and the
 * folders that are handed over, a uid that owns nothing. Whatever those files make the program do happens there.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import { diskUid } from './disk-owner.ts';
import { encodeOrders, rootFolders, seccompFd, stage } from './providers/bubblewrap/command.ts';
import { nativeProgram } from './providers/bubblewrap/files.ts';
import { seccompFilter } from './providers/guest/seccomp.ts';
import type { Architecture } from './providers/guest/syscalls.ts';

export interface JailFolder {
  /** A folder that only the host can move. */
  readonly root: string;
  /** From there; no name on the way may be a link. */
  readonly names: readonly string[];
  /** Absolute, inside. */
  readonly at: string;
  /** write: its files belong to the owner of disks, and to the program inside. */
  readonly access: 'read' | 'write';
}

export interface JailRun {
  readonly folders: readonly JailFolder[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
}

export interface JailResult {
  /** null: it was ended. */
  readonly exit: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly ended: 'itself' | 'timeout' | 'too-much-output';
}

/** Whom it is from outside, where the box is root; one that no sandbox and no disk has. */
const jailUid = 1_940_000_001;
const maxStderr = 16 * 1024;
const processes = 256;

export async function runJailed(run: JailRun): Promise<JailResult> {
  run.signal.throwIfAborted();
  const child = spawn(nativeProgram('launch'), [], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: {}, cwd: '/' });
  const channel = child.stdio[3] as Duplex;
  // It ends with the launcher; what went wrong is told by how that ended.
  channel.on('error', () => undefined);
  channel.end(orders(run), () => channel.destroy());

  return await new Promise<JailResult>((resolve, reject) => {
    const stdout: Buffer[] = [];
    let stderr = '';
    let bytes = 0;
    let ended: JailResult['ended'] = 'itself';
    const end = (why: JailResult['ended']): void => {
      ended = why;
      // Everything inside goes with the launcher: it holds their pid namespace.
      child.kill('SIGKILL');
    };
    const timer = setTimeout(() => end('timeout'), run.timeoutMs);
    const abort = (): void => end('timeout');
    run.signal.addEventListener('abort', abort, { once: true });
    child.stdout?.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > run.maxOutputBytes) end('too-much-output');
      else stdout.push(part);
    });
    child.stderr?.on('data', (part: Buffer) => {
      if (stderr.length < maxStderr) stderr += part.toString();
    });
    const settle = (): void => {
      clearTimeout(timer);
      run.signal.removeEventListener('abort', abort);
    };
    child.once('error', (error) => {
      settle();
      reject(new BoxError('sandbox_unavailable', `The launcher could not be started: ${error.message}`, { cause: error }));
    });
    child.once('close', (exit) => {
      settle();
      if (run.signal.aborted) reject(run.signal.reason);
      else if (exit === 126 && /^(launch|bwrap): /.test(stderr)) reject(new BoxError('sandbox_unavailable', stderr.trim()));
      else resolve({ exit, stdout: Buffer.concat(stdout), stderr, ended });
    });
  });
}

function orders({ argv, env, folders }: JailRun): Buffer {
  const isRoot = process.getuid?.() === 0;
  return encodeOrders([
    ...['parent', String(process.pid)],
    ...['seccomp', `/proc/${process.pid}/fd/${filter()}`],
    ...['userns', isRoot ? 'none' : 'self'],
    ...folders.flatMap(({ access, names, root }, index) => [
      ...['beneath', root, names.join('/') || '.', `folder${index}`, access === 'write' ? String(diskUid) : '0'],
    ]),
    ...(isRoot ? ['ids', String(jailUid), String(jailUid)] : []),
    ...['stage', '1048576', '256'],
    ...['rlimit', 'core', '0', ...(isRoot ? ['rlimit', 'nproc', String(processes)] : [])],
    ...['exec', bubblewrap()],
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup', '--disable-userns'],
    ...['--uid', '65534', '--gid', '65534', '--hostname', 'jail', '--cap-drop', 'ALL', '--new-session', '--die-with-parent', '--clearenv'],
    ...rootFolders(),
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev', '--remount-ro', '/dev', '--size', '67108864', '--tmpfs', '/tmp'],
    ...folders.flatMap(({ access, at }, index) => [access === 'write' ? '--bind' : '--ro-bind', `${stage}/folder${index}`, at]),
    ...Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--seccomp', seccompFd, '--remount-ro', '/', '--chdir', '/', '--', ...argv],
  ]);
}

let filterFd: number | undefined;

/** A file without a name, so that who only reads leaves nothing behind. */
function filter(): number {
  if (filterFd !== undefined) return filterFd;
  if (process.arch !== 'x64' && process.arch !== 'arm64')
    throw new BoxError('sandbox_unavailable', `There is no filter of system calls for ${process.arch}.`);
  const path = join(tmpdir(), `skillbox-${process.pid}-${randomBytes(8).toString('hex')}`);
  filterFd = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  writeSync(filterFd, seccompFilter(process.arch satisfies Architecture));
  return filterFd;
}

function bubblewrap(): string {
  const path = ['/usr/bin/bwrap', '/usr/local/bin/bwrap'].find((candidate) => existsSync(candidate));
  if (path) return path;
  throw new BoxError('sandbox_unavailable', 'bubblewrap is not installed.', { hint: 'sudo apt-get install -y bubblewrap' });
}
