/** One build: a sandbox of its own that reaches the index and nothing else, the installer in it, and the tree it leaves. */

import { existsSync } from 'node:fs';
import { BoxError, type DependencyKind, type Template } from '@skillbox/protocol';
import type { Caller } from '../../access/caller.ts';
import type { Config } from '../../config.ts';
import { templateDefaults } from '../../sandbox/built-in-templates.ts';
import type { HostedSandboxes } from '../../sandbox/create-sandboxes.ts';
import type { SandboxHandle } from '../../sandbox/living.ts';
import { homeFolder, programSpec } from '../../sandbox/programs.ts';
import { boxActor } from '../../sandbox/records.ts';
import type { Blobs } from '../../store/blobs.ts';
import { formatDuration, formatSize } from '../../units.ts';
import type { Declared } from './declared.ts';
import { mountPoints } from './inside.ts';
import type { BuildLog } from './log.ts';
import type { Built } from './records.ts';
import type { Toolchain } from './toolchain.ts';
import { repackTree, type TreeLimits } from './tree.ts';

export interface BuildParts {
  readonly blobs: Blobs;
  readonly config: Config;
  readonly sandboxes: HostedSandboxes;
  readonly limits: TreeLimits;
}

export interface BuildTask {
  readonly toolchain: Toolchain;
  readonly declared: Declared;
  readonly log: BuildLog;
  /** Labels of the sandbox, so that an operator sees whose it is. */
  readonly labels: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Whose the sandboxes of builds are: nobody's who could look into them. */
export const buildTenant = 'skillbox-builds';
export const buildCaller: Caller = { tenant: buildTenant, actor: boxActor, scopes: ['admin'] };

const outFolder = `${homeFolder}/out`;
const workFolder = `${homeFolder}/work`;
const tmpFolder = `${homeFolder}/tmp`;
const tarFile = `${homeFolder}/tree.tar`;
const diskLookMs = 1000;
/** While it is built there are downloads, sources and the tar beside the tree. */
const diskFactor = 4;

/** Rejects with dependencies_failed, and a message for people, when the installer does. */
export async function buildDependencies(parts: BuildParts, task: BuildTask): Promise<Built> {
  const { config, sandboxes } = parts;
  const deadline = AbortSignal.timeout(config.buildTimeout);
  const { id } = await sandboxes.createInternal(buildCaller, buildTemplate(config, task), task.labels);
  const use = await sandboxes.use(buildTenant, id);
  const room = watchDisk(use.handle, parts.limits.maxBytes * diskFactor);
  const signal = AbortSignal.any([task.signal, deadline, room.signal]);
  try {
    return await buildIn(parts, { ...task, signal }, use.handle, () => sandboxes.nextProgramId(id));
  } catch (error) {
    if (task.signal.aborted) throw task.signal.reason;
    // The box ends what outgrows its disk, perhaps before this has looked.
    if (room.signal.aborted || (await room.isFull())) throw tooLarge(parts.limits);
    if (deadline.aborted) throw new BoxError('dependencies_failed', `It took longer than ${formatDuration(config.buildTimeout)}.`);
    throw error;
  } finally {
    room.stop();
    use.done();
    await sandboxes.destroy(buildCaller, id, 'the build is over');
  }
}

const tooLarge = ({ maxBytes }: TreeLimits): BoxError =>
  new BoxError('dependencies_failed', `It needed more than ${formatSize(maxBytes * diskFactor)} of disk.`);

async function buildIn(parts: BuildParts, task: BuildTask, handle: SandboxHandle, nextId: () => number): Promise<Built> {
  const { declared, log, toolchain } = task;
  const run = createRunner(task, handle, nextId);
  for (const folder of [outFolder, workFolder, tmpFolder]) await handle.files.makeDir(folder);
  for (const { path, data } of declared.files) await handle.files.write(`${workFolder}/${path}`, data);
  log.say(`installing with ${toolchain.interpreter} ${toolchain.abi} from ${toolchain.index}`);
  const exit = await run(installers[declared.kind](toolchain, declared));
  if (exit !== 0) {
    if (/No space left on device|Disk quota exceeded|File too large/.test(log.text)) throw tooLarge(parts.limits);
    const remark = remarkOn(log.text, toolchain);
    if (remark !== undefined) log.say(remark);
    throw new BoxError('dependencies_failed', `The installer ended with ${exit ?? 'a signal'}: ${lastComplaint(log.text)}`);
  }
  // What it started in the background must not go on changing what is packed.
  await handle.endAll();
  const folder = declared.kind === 'python' ? outFolder : `${workFolder}/node_modules`;
  if (declared.kind === 'python') await run(compile(toolchain));
  else await handle.files.makeDir(folder).catch(ignoreExisting);
  // Two names of one file become two files: links that are not symbolic mean nothing elsewhere.
  const packed = await run([
    '/usr/bin/tar',
    '--create',
    `--file=${tarFile}`,
    `--directory=${folder}`,
    '--hard-dereference',
    '--sort=name',
    '.',
  ]);
  if (packed !== 0) throw new BoxError('dependencies_failed', 'What was installed could not be packed.');
  const { content } = await handle.files.read(tarFile);
  const { size, stored } = await repackTree(content, parts.limits, (stream) =>
    parts.blobs.put(stream, { maxBytes: parts.limits.maxBytes, durable: true }),
  );
  log.say(`installed ${size.files} files, ${formatSize(size.bytes)}`);
  return { blob: stored.digest, packed: stored.size, size: size.bytes, files: size.files };
}

const installers: Record<DependencyKind, (toolchain: Toolchain, declared: Declared) => string[]> = {
  python: ({ interpreter, index }, { hashed }) => [
    ...[interpreter, '-I', '-m', 'pip', 'install', '--target', outFolder, '--index-url', index],
    ...['--no-input', '--disable-pip-version-check', '--no-cache-dir', '--no-compile', '--progress-bar', 'off'],
    // Who chose an index without TLS trusts the way to it.
    ...(index.startsWith('http:') ? ['--trusted-host', new URL(index).host] : []),
    ...(hashed ? ['--require-hashes'] : []),
    ...['-r', `${workFolder}/requirements.txt`],
  ],
  node: ({ interpreter, npm = '', index }) => [
    ...[interpreter, npm, 'ci', '--omit=dev', '--registry', index, '--cache', `${tmpFolder}/npm`],
    ...['--no-audit', '--no-fund', '--no-update-notifier', '--no-progress'],
  ],
};

/** Once, here: a run could not write what it compiled. Without times, which are not kept, and with the paths that a run sees. */
const compile = ({ interpreter }: Toolchain): string[] => [
  ...[interpreter, '-I', '-m', 'compileall', '-qq', '-s', outFolder, '-p', mountPoints.python],
  ...['--invalidation-mode', 'unchecked-hash', outFolder],
];

/** Runs a program to its end, with what it says in the log. */
function createRunner({ log, signal }: BuildTask, handle: SandboxHandle, nextId: () => number) {
  return async (argv: readonly string[]): Promise<number | null> => {
    signal.throwIfAborted();
    const env = {
      ...certificateEnv(),
      TMPDIR: tmpFolder,
      PIP_CONFIG_FILE: '/dev/null',
      PYTHONDONTWRITEBYTECODE: '1',
      NO_COLOR: '1',
      CI: 'true',
    };
    const program = await handle.start(programSpec(nextId(), { argv, env, cwd: workFolder, stdin: false, tag: 'build' }));
    const stop = (): void => void handle.endAll().catch(() => undefined);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      for await (const event of program.events) {
        if (event.type === 'end') {
          signal.throwIfAborted();
          return event.exitCode;
        }
        if (event.type === 'lost') log.say('some output was lost');
        else log.add(event.bytes);
      }
      throw new BoxError('sandbox_failed', 'The build sandbox went away.');
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

/** Installers bring certificates of their own; what the host trusts is what counts, also where an index has one from within. */
function certificateEnv(): Record<string, string> {
  const bundle = bundles.find((path) => existsSync(path));
  return bundle === undefined ? {} : { PIP_CERT: bundle, SSL_CERT_FILE: bundle, REQUESTS_CA_BUNDLE: bundle, NODE_EXTRA_CA_CERTS: bundle };
}

const bundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];

interface DiskWatch {
  /** Aborts when the disk holds too much. */
  readonly signal: AbortSignal;
  isFull(): Promise<boolean>;
  stop(): void;
}

function watchDisk(handle: SandboxHandle, mostBytes: number): DiskWatch {
  const controller = new AbortController();
  const isFull = async (): Promise<boolean> => (await handle.metrics()).diskBytes > mostBytes;
  const look = async (): Promise<void> => {
    if (await isFull()) controller.abort();
  };
  // A sandbox that has no numbers now is about to end, or has them at the next look.
  const timer = setInterval(() => void look().catch(() => undefined), diskLookMs);
  timer.unref();
  return { signal: controller.signal, isFull, stop: () => clearInterval(timer) };
}

function buildTemplate(config: Config, { toolchain }: BuildTask): Template {
  const ttl = config.buildTimeout + 2 * 60_000;
  return {
    ...structuredClone(templateDefaults as Omit<Template, 'name' | 'version' | 'source'>),
    ...{ name: 'dependencies', version: 1, source: 'built-in', description: 'Installs the dependencies of a skill.' },
    resources: {
      ...{ cpu: config.maxCpu, memory_bytes: config.buildMemory, processes: 256, tmp_bytes: 64 * 2 ** 20 },
      disk_bytes: config.maxDependenciesSize * diskFactor,
    },
    network: { mode: 'allow', allow: [...toolchain.hosts] },
    ttl: { default_ms: ttl, max_ms: ttl },
    idle: { action: 'keep', after_ms: null },
    admin_only: true,
  };
}

/** The last line that says what is wrong, be it the installer's or that of what it ran; or the last one at all. */
export function lastComplaint(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('[skillbox]'));
  const found = lines.findLast((line) => complaint.test(line)) ?? lines.at(-1) ?? 'it said nothing';
  return found.slice(0, 500);
}

const complaint = /^(ERROR:|npm (error|ERR!) (?!A complete log)|([\w.]+(Error|Exception)|SystemExit): )/;

function remarkOn(text: string, { hosts }: Toolchain): string | undefined {
  if (/\b403\b|tunnel|EAI_AGAIN|Name or service not known|Temporary failure in name resolution/i.test(text))
    return `a build reaches only ${hosts.join(', ')}; everything else is refused`;
  if (/\bE404\b|ETARGET/.test(text))
    return 'the registry lacks a package that the lock file names; lock files also name packages for other platforms';
  return undefined;
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof BoxError && error.code === 'already_exists')) throw error;
}
