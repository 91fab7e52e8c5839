/** The default provider: bubblewrap, with everything it cannot do itself done by the launcher before it and the guest inside it. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { BoxError, type Language } from '@skillbox/protocol';
import type { LivingProvider } from '../../living.ts';
import type { Provider, ProviderReport, RunLimits, RunRequest } from '../../provider.ts';
import { seatOf, type WorkspaceParts } from '../../workspace/seat.ts';
import { LostBeforeStart, runOnce, runStanding } from '../guest/run-once.ts';
import { seccompFilter } from '../guest/seccomp.ts';
import type { Architecture } from '../guest/syscalls.ts';
import { openCgroups } from './cgroup.ts';
import { type HostPaths, type IdMode, launchOrders, nestOrders } from './command.ts';
import { nativeProgram, writeProviderFiles } from './files.ts';
import { socketFolder } from './folders.ts';
import { findInterpreters } from './interpreters.ts';
import { createLaunchers, type Launched, oneShotIn } from './launcher.ts';
import { isUsable, layerStates } from './layers.ts';
import { createLiving } from './living.ts';
import { createNests, type Nest } from './nest.ts';
import { claimUids } from './uids.ts';
import { createWarmPools, type WarmCopies } from './warm.ts';

export interface BubblewrapOptions {
  /** Folder of ours for the filter and the small /etc; made when missing. */
  readonly runFolder: string;
  /** Where the disks of living sandboxes are kept. */
  readonly diskFolder: string;
  /** Keeps the cgroups of several servers on one machine apart. */
  readonly owner: string;
  readonly standby: number;
  /** Memory that sandboxes made ready ahead may hold; 0 makes none. */
  readonly warmMemory: number;
  readonly warmCopies: WarmCopies;
  readonly warmIdleMs: number;
  readonly interpreters: Partial<Record<Language, string>>;
  readonly acceptMissing: readonly string[];
  /** More read-only paths that sandboxes see. */
  readonly paths: readonly string[];
  /** Holds a folder for each sandbox that has a way to the box. Without it there are none. */
  readonly channelRoot?: string;
  /** What the file system of the disks must have left for sandboxes to be made and to write. */
  readonly diskReserve?: number;
  /** What the workspace is made of. Without it there is none. */
  readonly workspace?: WorkspaceParts;
  onWarning(message: string): void;
}

/** What a sandbox that runs once is made from, whatever the job. */
type Shape = Pick<RunRequest, 'limits' | 'skillFolder' | 'dependencies'>;

/** Both kinds of sandboxes: those that run once, and those that live. */
export interface BubblewrapProvider extends Provider {
  readonly living: LivingProvider;
}

/** A launcher that somebody kills while it stands by may be taken before its end is known. */
const startAttempts = 3;

export async function openBubblewrap(options: BubblewrapOptions): Promise<BubblewrapProvider> {
  const [bwrap, interpreters] = await Promise.all([findBubblewrap(), findInterpreters(options.interpreters)]);
  const architecture = process.arch as Architecture;
  const architectureKnown = process.arch === 'x64' || process.arch === 'arm64';
  const ids = idMode();
  const uids = await (ids.kind === 'root' ? claimUids() : claimUids(1, ids.kind === 'subordinate' ? Math.min(ids.uidCount, 1000) : 1000));
  const cgroups = openCgroups(options.owner);
  mkdirSync(options.runFolder, { recursive: true, mode: 0o700 });
  const seat = options.workspace && seatOf(options.workspace);
  const files = architectureKnown ? writeProviderFiles(options.runFolder, architecture, seat) : undefined;
  const paths: HostPaths = {
    bwrap: bwrap?.path ?? '',
    guest: nativeProgram('guest'),
    etc: files?.etc ?? '',
    workspaceEtc: files?.workspaceEtc ?? '',
    filter: files?.filter ?? '',
    nestFilter: files?.nestFilter ?? '',
    extra: [...new Set([...Object.values(interpreters).flatMap(({ mount }) => mount ?? []), ...options.paths])],
  };
  await cgroups.sweep();
  const launchers = createLaunchers({
    program: nativeProgram('launch'),
    cgroups,
    standby: bwrap ? options.standby : 0,
    onTrouble: options.onWarning,
  });

  const run = async (request: RunRequest) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await runIn(request);
      } catch (error) {
        // Nothing of it has run, so that a second launcher is not a second run.
        if (!(error instanceof LostBeforeStart) || attempt === startAttempts || request.signal.aborted) throw error;
      }
    }
  };

  /** A launcher with its orders and a uid of its own; disposing of it gives the uid back. */
  const open = ({ dependencies, limits, skillFolder }: Shape, kind: 'run' | 'nest' = 'run') => {
    const uid = uids.take();
    let launched: Launched | undefined;
    // A uid whose processes would not die is never given to another sandbox.
    const dispose = async (): Promise<boolean> => {
      const clean = (await launched?.dispose()) ?? true;
      if (clean) uids.give(uid);
      return clean;
    };
    try {
      launched = launchers.take();
      const { memoryBytes, processes, cpu } = limits;
      // Three more: the launcher and bubblewrap, which wait outside, and the guest; in a nest its parent is the fourth.
      launched.cgroup.limit({ memoryBytes, processes: processes + (kind === 'nest' ? 4 : 3), cpu });
      const cgroup = { memory: cgroups.available.has('memory'), pids: cgroups.available.has('pids') };
      const shape = { skillFolder, limits, ...(dependencies && { dependencies }) };
      const orders = kind === 'nest' ? nestOrders : launchOrders;
      launched.channel.write(orders({ ids, uid, paths, cgroup, ...shape }));
      return { launched, dispose };
    } catch (error) {
      void dispose();
      throw error;
    }
  };

  let running = 0;
  const pools = createWarmPools<Nest>({
    budgetBytes: options.warmMemory,
    copies: options.warmCopies,
    idleMs: options.warmIdleMs,
    running: () => running,
    onTrouble: options.onWarning,
  });
  const nests = createNests({
    open: (shape) => open(shape, 'nest'),
    filter: architectureKnown ? seccompFilter(architecture) : Buffer.alloc(0),
    onWarning: options.onWarning,
  });

  const runIn = async (request: RunRequest) => {
    const { argv, dependencies, limits, skillFolder, warm } = request;
    const shape = { argv, limits, skillFolder, ...(dependencies && { dependencies }) };
    running += 1;
    try {
      // From what all runs with this recipe share; nothing of a job is kept.
      const nest = warm && (await pools.take(warm.key, (copies) => nests.make(shape, warm, copies)));
      return await (nest ? runInNest(nest, request) : runAlone(request));
    } catch (error) {
      if (error instanceof BoxError) throw error;
      throw new BoxError('sandbox_failed', `The sandbox could not be prepared: ${(error as Error).message}`, { cause: error });
    } finally {
      running -= 1;
    }
  };

  const runInNest = async (nest: Nest, request: RunRequest) => {
    let inOrder = false;
    try {
      nest.weigh(request.share ?? 1);
      const result = await runStanding(nest.standing, request);
      inOrder = result.end === 'exited' && !result.outOfMemory;
      return result;
    } finally {
      // The answer waits neither for the tear-down nor for what makes it ready again.
      pools.giveBack(nest, inOrder);
    }
  };

  const runAlone = async (request: RunRequest) => {
    const { launched, dispose } = open(request);
    try {
      launched.cgroup.weigh(request.share ?? 1);
      return await runOnce(oneShotIn(launched), request);
    } finally {
      // The uid rests until the tear-down is done.
      void dispose();
    }
  };

  const trialFailure = bwrap && files ? await trial(run, files.etc) : 'not tried';
  const layers = layerStates({ bwrap, architectureKnown, ids, cgroups, trialFailure }, options.acceptMissing);
  const report: ProviderReport = {
    ready: isUsable(layers),
    layers,
    facts: {
      bubblewrap: bwrap ? bwrap.version : 'missing',
      cgroups: cgroups.detail,
      ...Object.fromEntries(Object.entries(interpreters).map(([name, { path, version }]) => [name, `${path} ${version}`])),
    },
  };

  const living = createLiving({
    ...{ ids, paths, launcher: nativeProgram('launch'), folder: options.diskFolder },
    cgroups: openCgroups(`${options.owner}-living`),
    runFolder: socketFolder(options.runFolder),
    firstUid: livingUids(options.owner),
    ...(options.channelRoot && { channelRoot: options.channelRoot }),
    reserveBytes: options.diskReserve ?? 0,
    ...(options.workspace && { workspace: options.workspace }),
    acceptsOwnUid: options.acceptMissing.includes('uid'),
    isReady: () => report.ready,
  });

  return {
    name: 'bubblewrap',
    living,
    tier: 'namespaces',
    report,
    interpreter: (language) => interpreters[language],
    async runOnce(request) {
      if (report.ready) return run(request);
      const missing = report.layers.filter((layer) => !layer.present && !layer.accepted);
      throw new BoxError('sandbox_unavailable', `This host lacks a layer of the sandbox: ${missing.map(({ name }) => name).join(', ')}.`, {
        details: { missing },
      });
    },
    get standby() {
      return launchers.ready;
    },
    get warm() {
      return pools.state;
    },
    sweep: () => cgroups.sweep(),
    async close() {
      await Promise.all([pools.close(), nests.close()]);
      await launchers.close();
      await living.close();
      cgroups.close();
      uids.close();
    },
  };
}

/** Runs the smallest thing there is, so that what the host refuses shows at start and not in the first execution. */
async function trial(run: (request: RunRequest) => Promise<unknown>, skillFolder: string): Promise<string | undefined> {
  try {
    await run({
      id: 'trial',
      skillFolder,
      argv: ['/usr/bin/env'],
      env: {},
      inputs: [],
      limits: trialLimits,
      signal: AbortSignal.timeout(15_000),
      onOutput: () => undefined,
      onArtifact: async () => undefined,
    });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const trialLimits: RunLimits = {
  timeoutMs: 10_000,
  memoryBytes: 64 * 2 ** 20,
  cpu: 1,
  processes: 16,
  openFiles: 64,
  diskBytes: 2 ** 20,
  logBytes: 4096,
  outputBytes: 4096,
  artifacts: 1,
  artifactBytes: 4096,
};

async function findBubblewrap(): Promise<{ path: string; version: string } | undefined> {
  for (const path of ['/usr/bin/bwrap', '/usr/local/bin/bwrap']) {
    if (!existsSync(path)) continue;
    const { stdout } = await promisify(execFile)(path, ['--version'], { env: {} });
    return { path, version: /[\d.]+/.exec(stdout)?.[0] ?? '0' };
  }
  return undefined;
}

/** A block of a thousand for each host, chosen by its id: sandboxes that outlive the server keep their uid. */
function livingUids(owner: string): number {
  const number = createHash('sha256').update(owner).digest().readUInt32LE(0);
  return firstLivingUid + (number % livingBlocks) * 1000;
}

const firstLivingUid = 1_950_000_000;
const livingBlocks = 40_000;

/** How this process can give a sandbox a uid of its own. */
function idMode(): IdMode {
  if (process.getuid?.() === 0) return { kind: 'root' };
  const uids = subordinateRange('/etc/subuid');
  const gids = subordinateRange('/etc/subgid');
  if (!uids || !gids || !existsSync('/usr/bin/newuidmap')) return { kind: 'self' };
  return { kind: 'subordinate', uidStart: uids.start, uidCount: uids.count, gidStart: gids.start, gidCount: gids.count };
}

function subordinateRange(file: string): { start: number; count: number } | undefined {
  if (!existsSync(file)) return undefined;
  const uid = process.getuid?.();
  const username = nameOf(uid);
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [owner, start, count] = line.split(':');
    if ((owner === username || owner === String(uid)) && Number(count) >= 1000) return { start: Number(start), count: Number(count) };
  }
  return undefined;
}

/** A uid in a container may have no name. */
function nameOf(uid: number | undefined): string | undefined {
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.split(':')[2] === String(uid));
  return entry?.split(':')[0];
}
