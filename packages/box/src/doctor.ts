/** What this machine has and lacks for a box: each check says how it is, and the line that mends it. */

import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type HostCheck as Check, dependencyKinds, languages } from '@skillbox/protocol';
import type { Config } from './config.ts';
import { formatFinding } from './manifest/finding.ts';
import { checkManifestFile } from './manifest/load.ts';
import type { Manifest } from './manifest/schema.ts';
import { tryLock } from './process/abstract-lock.ts';
import type { Provider } from './sandbox/provider.ts';
import { openBubblewrap } from './sandbox/providers/bubblewrap/provider.ts';
import { findToolchain, isUsable } from './skills/dependencies/toolchain.ts';
import { readServerRecord, type ServerRecord } from './state.ts';
import { formatSize } from './units.ts';

const leastDiskBytes = 2 ** 30;

export async function examine(load: () => Config): Promise<Check[]> {
  const checks = [nodeCheck()];
  let config: Config;
  try {
    config = load();
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return [...checks, missing('configuration', error.message, error.hint), ...(await sandboxChecks(undefined, undefined))];
  }
  const { manifest, checks: manifestChecks } = checkManifest(config);
  const running = readServerRecord(config.stateRoot);
  return [
    ...checks,
    ...manifestChecks,
    ...(await sandboxChecks(manifest, config)),
    ...(await workspaceChecks(manifest, config)),
    stateRootCheck(config),
    diskCheck(config),
    ...(running ? [await serverCheck(running)] : [await portCheck(config)]),
  ];
}

const ok = (name: string, detail: string): Check => ({ name, state: 'ok', detail });
const warn = (name: string, detail: string, fix?: string): Check => ({ name, state: 'warn', detail, ...(fix !== undefined && { fix }) });
const missing = (name: string, detail: string, fix: string): Check => ({ name, state: 'missing', detail, fix });

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const recent = major > 20 || (major === 20 && minor >= 19);
  const detail = `${process.version} on ${process.platform} ${process.arch}`;
  return recent
    ? ok('node', detail)
    : missing('node', `${detail}; 20.19 or newer is needed`, 'Install Node.js 20.19 or newer: https://nodejs.org');
}

function checkManifest(config: Config): { manifest: Manifest | undefined; checks: Check[] } {
  try {
    const { manifest, findings } = checkManifestFile(config);
    const checks = findings.map((finding) =>
      finding.severity === 'error'
        ? missing('manifest', `${finding.file}:${finding.line} ${finding.message}`, finding.fix)
        : warn('manifest', formatFinding(finding)),
    );
    const good = ok('manifest', config.manifest ?? 'none found: the built-in defaults are the manifest');
    return { manifest, checks: checks.length > 0 ? checks : [good] };
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return { manifest: undefined, checks: [missing('manifest', error.message, error.hint)] };
  }
}

/** The layers are tried for real, beside a server that may run. */
async function sandboxChecks(manifest: Manifest | undefined, config: Config | undefined): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-doctor-'));
  const turn = await takeTurn();
  let provider: Provider | undefined;
  try {
    provider = await openBubblewrap({
      runFolder: folder,
      diskFolder: join(folder, 'disks'),
      owner: 'doctor',
      standby: 0,
      warmMemory: 0,
      warmCopies: 'never',
      warmIdleMs: 0,
      interpreters: manifest?.sandbox.interpreters ?? {},
      acceptMissing: manifest?.sandbox.accept_missing ?? [],
      paths: manifest?.sandbox.paths ?? [],
      onWarning: () => undefined,
    });
    return [...layerChecks(provider), ...interpreterChecks(provider), ...(await dependencyChecks(provider, config))];
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return [missing('sandbox', error.message, error.hint)];
  } finally {
    await provider?.close();
    turn.release();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** By bubblewrap it needs what every sandbox needs. */
async function workspaceChecks(manifest: Manifest | undefined, config: Config): Promise<Check[]> {
  if (manifest?.workspace.provider !== 'docker') return [];
  // With all that speaks to engines and machines, which nobody else needs here.
  const { checkDockerWorkspace } = await import('./sandbox/providers/configured.ts');
  try {
    return [ok('workspace', await checkDockerWorkspace(config, manifest.workspace.image))];
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return [missing('workspace', error.message, error.hint)];
  }
}

/** Two doctors would take each other's trial sandbox for a leftover. */
async function takeTurn(): Promise<{ release(): void }> {
  for (;;) {
    const lock = await tryLock('doctor');
    if (lock) return lock;
    await sleep(50);
  }
}

function layerChecks({ report }: Provider): Check[] {
  return report.layers.map(({ name, present, accepted, detail, fix }) => {
    if (present) return ok(name, detail);
    if (accepted) return warn(name, `${detail} (accepted in the manifest)`, fix);
    return missing(name, detail, fix ?? 'The line above says what refused it.');
  });
}

const packages = { python: 'python3', node: 'nodejs', bash: 'bash' } as const;

function interpreterChecks(provider: Provider): Check[] {
  return languages.map((language) => {
    const found = provider.interpreter(language);
    if (found) return ok(`${language} skills`, `${found.path} ${found.version}`);
    // Skills in the other languages run all the same.
    return warn(`${language} skills`, 'no interpreter where a sandbox can see it', `sudo apt-get install -y ${packages[language]}`);
  });
}

/** A box without them runs every skill that needs no packages. */
async function dependencyChecks(provider: Provider, config: Config | undefined): Promise<Check[]> {
  if (!config) return [];
  const found = await Promise.all(
    dependencyKinds.flatMap((kind) => (provider.interpreter(kind) ? [findToolchain(kind, provider.interpreter(kind), config)] : [])),
  );
  return found.map((toolchain) => {
    const name = `${toolchain.kind} dependencies`;
    if (isUsable(toolchain)) return ok(name, `${toolchain.kind === 'python' ? 'pip' : 'npm'}, from ${toolchain.index}`);
    return warn(name, toolchain.reason, toolchain.fix);
  });
}

function stateRootCheck({ stateRoot }: Config): Check {
  const existing = nearestExisting(stateRoot);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    return ok('state root', existing === stateRoot ? stateRoot : `${stateRoot} (will be made)`);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    return missing('state root', `${existing} cannot be written by this user (${code})`, `sudo chown "$(id -un)" ${existing}`);
  }
}

function diskCheck({ stateRoot }: Config): Check {
  const { bavail, bsize } = statfsSync(nearestExisting(stateRoot));
  const free = bavail * bsize;
  const detail = `${formatSize(free)} free`;
  if (free >= leastDiskBytes) return ok('disk', detail);
  return warn(
    'disk',
    `${detail}: little for skills, artifacts and logs`,
    'Free some space, or move it: SKILLBOX_STATE_ROOT=/other/disk/skillbox',
  );
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

async function serverCheck({ url, pid, version }: ServerRecord): Promise<Check> {
  const address = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  try {
    const response = await fetch(`${address}/ready`, { signal: AbortSignal.timeout(5000) });
    if (response.ok) return ok('server', `${address}, pid ${pid}, version ${version}`);
    return warn('server', `${address} is not ready (status ${response.status})`, 'skillbox health');
  } catch {
    // Whatever kept it from answering: the process is there, and does not.
    return missing('server', `pid ${pid} runs but does not answer at ${address}`, 'skillbox down && skillbox up');
  }
}

async function portCheck({ bind, port }: Config): Promise<Check> {
  const problem = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen(port, bind, () => server.close(() => resolve(undefined)));
  });
  if (!problem) return ok('port', `${port} on ${bind} is free; no server runs yet: skillbox up`);
  if (problem.code === 'EADDRINUSE') {
    return missing(
      'port',
      `${port} on ${bind} is used by another program`,
      `skillbox up --port ${port + 1}    # or see who it is: ss -ltnp 'sport = :${port}'`,
    );
  }
  return missing(
    'port',
    `${port} on ${bind} cannot be used: ${problem.message}`,
    'Set SKILLBOX_BIND and SKILLBOX_API_PORT to an address of this machine.',
  );
}
