/** A Docker engine of our own, with everything it has in a temporary folder, and an image made from this machine's programs. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Dockerode from 'dockerode';
import { findProgram } from './programs.ts';

export interface TestDocker {
  readonly socket: string;
  /** The name of an image with bash, coreutils and Python. */
  readonly image: string;
  readonly docker: Dockerode;
  stop(): Promise<void>;
}

const image = 'skillbox-test:latest';
const startLimitMs = 30_000;

/** Whether an engine can be started here; says so when it cannot. */
export function dockerIsInstalled(): boolean {
  const why = process.getuid?.() !== 0 ? 'only root can start an engine' : findProgram('dockerd') ? '' : 'docker.io is not installed';
  if (why) console.warn(`SKIPPED: ${why}, so nothing is tested against Docker. Run scripts/setup.sh test as root to run these tests.`);
  return !why;
}

/** `more` programs for the image, by their paths here. */
export async function startDocker(more: readonly string[] = []): Promise<TestDocker> {
  const folder = mkdtempSync(join(tmpdir(), 'sbd-'));
  const socket = join(folder, 'docker.sock');
  const log = join(folder, 'log');
  const server = launch(folder, socket, log);
  const kill = (): void => {
    server.kill('SIGTERM');
    spawn('sh', ['-c', `while kill -0 ${server.pid}; do sleep 0.2; done; rm -rf "${folder}"`], { detached: true, stdio: 'ignore' }).unref();
  };
  // Also when a test file ends without its afterAll.
  process.once('exit', kill);
  const stop = async (): Promise<void> => {
    process.off('exit', kill);
    const exited = server.exitCode === null ? once(server, 'exit') : undefined;
    server.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const docker = new Dockerode({ socketPath: socket });
  try {
    await untilReady(docker, server, log);
    await importImage(docker, folder, more);
  } catch (error) {
    await stop();
    throw error;
  }
  return { socket, image, docker, stop };
}

/** No bridge and no firewall rules: nothing here has a network. It dies with this process, however that ends. */
function launch(folder: string, socket: string, log: string): ChildProcess {
  const file = openSync(log, 'w');
  const server = spawn(
    '/usr/bin/setpriv',
    [
      ...['--pdeathsig', 'TERM', findProgram('dockerd') ?? 'dockerd'],
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
      ...['--host', `unix://${socket}`, '--storage-driver', 'overlay2'],
      ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false'],
    ],
    { stdio: ['ignore', file, file], env: { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin' } },
  );
  closeSync(file);
  return server;
}

async function untilReady(docker: Dockerode, server: ChildProcess, log: string): Promise<void> {
  const deadline = Date.now() + startLimitMs;
  for (;;) {
    const answers = await docker.ping().then(
      () => true,
      () => false,
    );
    if (answers) return;
    if (server.exitCode !== null || Date.now() > deadline)
      throw new Error(`dockerd did not start:\n${readFileSync(log, 'utf8').slice(-4000)}`);
    await delay(50);
  }
}

/** There is no registry here: the image is a copy of what this machine has. */
async function importImage(docker: Dockerode, folder: string, more: readonly string[]): Promise<void> {
  const root = join(folder, 'image');
  stageRoot(root, more);
  const archive = spawn('tar', ['-C', root, '-c', '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const answer = await docker.importImage(archive.stdout, { repo: 'skillbox-test', tag: 'latest' });
  await new Promise<void>((resolve, reject) => docker.modem.followProgress(answer, (error) => (error ? reject(error) : resolve())));
  rmSync(root, { recursive: true, force: true });
}

function stageRoot(root: string, more: readonly string[]): void {
  for (const folder of ['usr/bin', 'usr/lib', 'usr/lib64', 'etc', 'proc', 'sys', 'dev']) mkdirSync(join(root, folder), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name));
  const coreutils = execFileSync('/usr/bin/dpkg', ['-L', 'coreutils'], { encoding: 'utf8' });
  const tools = [...coreutils.matchAll(/^(?:\/usr)?\/bin\/(\S+)$/gm)].map(([, name = '']) => name);
  const programs = [...['bash', 'python3', 'grep', ...tools].map((name) => `/usr/bin/${name}`), ...more];
  const standard = execFileSync('/usr/bin/python3', ['-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))'], {
    encoding: 'utf8',
  }).trim();
  const modules = readdirSync(join(standard, 'lib-dynload')).map((name) => join(standard, 'lib-dynload', name));
  for (const file of [...programs, ...librariesOf([...programs, ...modules])]) {
    const target = join(root, realpathSync(dirname(file)), basename(file));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(realpathSync(file), target);
  }
  cpSync(standard, join(root, standard), {
    recursive: true,
    filter: (path) => !/\/(__pycache__|test|dist-packages|config-[^/]*)$/.test(path),
  });
}

export function librariesOf(files: readonly string[]): string[] {
  const said = execFileSync('sh', ['-c', 'ldd "$@" 2>/dev/null || true', 'ldd', ...files], { encoding: 'utf8', maxBuffer: 2 ** 24 });
  return [...new Set([...said.matchAll(/(?:=> |^\s+)(\/\S+) \(/gm)].map(([, path = '']) => path))];
}

/** Without what is empty: engines of different age name different defaults. */
export function whatIsSet(given: object): Record<string, unknown> {
  const isEmpty = (value: unknown): boolean =>
    !value || (Array.isArray(value) ? value.every((one) => !one) : typeof value === 'object' && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(given).filter(([, value]) => !isEmpty(value)));
}
