/** The one mapping between paths on the host and paths in the workspace, both ways: the longest root that fits wins. */

import { realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import type { Place } from './graph.ts';
import { runtimeLogFolder, serviceLogFolder } from './runtime.ts';
import type { WorkspaceSettings } from './schema.ts';

export interface Mount {
  /** Variable for the path inside; its sibling for the host has _HOST before _ROOT. */
  readonly variable: string | undefined;
  readonly path: string;
  readonly hostPath: string;
  /** What the workspace may write is never trusted. */
  readonly writable: boolean;
}

export interface PathMap {
  readonly mounts: readonly Mount[];
  /** A path as a file of the box says it: of the workspace, of the host, or from the folder of that file. */
  place(text: string, folder: string): Place;
  /** How the workspace calls what lies there on the host; the same path for what it does not see. */
  fromHost(hostPath: string): Place;
}

type PathConfig = Pick<
  Config,
  'baseDir' | 'stateRoot' | `${'workspace' | 'repos' | 'skills' | 'log' | 'home' | 'monoserver' | 'clients'}${'Root' | 'HostRoot'}`
>;

export function createPathMap(config: PathConfig, { paths }: Pick<WorkspaceSettings, 'paths'>): PathMap {
  const mounts = mountsOf(config, paths);
  refuseExposure(config, mounts);
  refuseAliases(mounts);
  const byPath = [...mounts].sort((one, other) => other.path.length - one.path.length);
  const byHost = [...mounts].sort((one, other) => other.hostPath.length - one.hostPath.length);
  const realRoots = byHost.map((mount) => ({ ...mount, hostPath: realPath(mount.hostPath) }));
  realRoots.sort((one, other) => other.hostPath.length - one.hostPath.length);
  const realFolders = new Map<string, string>();
  const realFolder = (folder: string): string => {
    const known = realFolders.get(folder) ?? realPath(folder);
    realFolders.set(folder, known);
    return known;
  };

  const fromHost = (given: string): Place => {
    const hostPath = trimmed(given);
    const direct = within(byHost, hostPath, 'hostPath');
    if (direct) return seen(direct, hostPath);
    // A link on the host's own ground may lead inside, and then it is inside.
    const folder = dirname(hostPath);
    const realAbove = realFolder(folder);
    const real = realAbove === folder ? hostPath : join(realAbove, basename(hostPath));
    const behind = real === hostPath ? undefined : within(realRoots, real, 'hostPath');
    return behind ? seen(behind, real) : { path: hostPath, hostPath, inside: false };
  };
  return {
    mounts,
    fromHost,
    place(text, folder) {
      if (!isAbsolute(text)) return fromHost(resolve(folder, text));
      const path = trimmed(text);
      const mount = within(byPath, path, 'path');
      return mount ? { path, hostPath: below(mount.hostPath, path.slice(mount.path.length)), inside: mount.writable } : fromHost(path);
    },
  };
}

function mountsOf(config: PathConfig, paths: WorkspaceSettings['paths']): Mount[] {
  const { stateRoot, baseDir } = config;
  const inside = (setting: string | undefined, declared: string | undefined, fallback: string) => trimmed(setting ?? declared ?? fallback);
  const host = (setting: string | undefined, fallback: string) => trimmed(setting === undefined ? fallback : resolve(baseDir, setting));
  const workspace = inside(config.workspaceRoot, paths.workspace_root, '/workspace');
  const workspaceHost = host(config.workspaceHostRoot, join(stateRoot, 'workspace'));
  const log = inside(config.logRoot, paths.log_root, join(workspace, 'logs'));
  const mount = (variable: string | undefined, path: string, hostPath: string, writable: boolean): Mount => ({
    variable,
    path,
    hostPath,
    writable,
  });
  return [
    mount('SKILLBOX_WORKSPACE_ROOT', workspace, workspaceHost, true),
    mount(
      'SKILLBOX_REPOS_ROOT',
      inside(config.reposRoot, paths.repos_root, join(workspace, 'repos')),
      host(config.reposHostRoot, join(workspaceHost, 'repos')),
      true,
    ),
    mount(
      'SKILLBOX_SKILLS_ROOT',
      inside(config.skillsRoot, paths.skills_root, join(workspace, 'skills')),
      host(config.skillsHostRoot, join(workspaceHost, 'skills')),
      true,
    ),
    mount('SKILLBOX_LOG_ROOT', log, host(config.logHostRoot, join(workspaceHost, 'logs')), true),
    mount(
      'SKILLBOX_HOME_ROOT',
      inside(config.homeRoot, paths.home_root, '/home/sandbox'),
      host(config.homeHostRoot, join(stateRoot, 'home')),
      true,
    ),
    mount(
      'SKILLBOX_MONOSERVER_ROOT',
      inside(config.monoserverRoot, paths.monoserver_root, '/monoserver'),
      host(config.monoserverHostRoot, join(stateRoot, 'monoserver')),
      true,
    ),
    mount(
      'SKILLBOX_CLIENTS_ROOT',
      inside(config.clientsRoot, paths.clients_root, join(workspace, 'workspace/clients')),
      host(config.clientsHostRoot, join(stateRoot, 'clients')),
      false,
    ),
    // The box's own logs, for reading.
    mount(undefined, join(log, 'runtime'), runtimeLogFolder(stateRoot), false),
    mount(undefined, join(log, 'services'), serviceLogFolder(stateRoot), false),
  ];
}

/** Who can write the manifest, the overlays or the state of the box decides what the host runs. */
function refuseExposure({ baseDir, stateRoot }: PathConfig, mounts: readonly Mount[]): void {
  const own = [
    ['the manifest', baseDir],
    ['the state root', stateRoot],
    ...mounts.filter(({ writable }) => !writable).map(({ path, hostPath }) => [path, hostPath] as const),
  ] as const;
  for (const { variable, path, hostPath, writable } of mounts) {
    if (!writable) continue;
    const exposed = own.find(([, folder]) => isWithin(realPath(folder), realPath(hostPath)));
    if (!exposed) continue;
    throw new BoxError(
      'config_invalid',
      `${hostVariable(variable ?? '')}: the workspace may write ${path}, and ${hostPath} on the host contains ${exposed[0]} (${exposed[1]}).`,
      { hint: 'Name a folder that holds nothing of the box itself, such as one with repositories only.', details: { variable } },
    );
  }
}

/**
 * A root may lie in another, and is then where the other shows it too. Under another name those inside could move it, and put a link in
 * its place that the host would take for the root.
 */
function refuseAliases(mounts: readonly Mount[]): void {
  const roots = mounts.filter(({ writable }) => writable).map((mount) => ({ ...mount, real: realPath(mount.hostPath) }));
  for (const one of roots) {
    for (const other of roots) {
      if (one.real === other.real || !isWithin(one.real, other.real)) continue;
      const shown = below(other.path, one.real.slice(other.real.length));
      if (shown === one.path) continue;
      throw new BoxError(
        'config_invalid',
        `${hostVariable(one.variable ?? '')}: ${one.hostPath} lies in ${other.hostPath}, so that the workspace has it at ${shown} and at ${one.path}.`,
        {
          hint: `Set ${one.variable} to ${shown}, or ${hostVariable(one.variable ?? '')} to a folder outside of ${other.hostPath}.`,
          details: { variable: one.variable, other: other.variable },
        },
      );
    }
  }
}

export const hostVariable = (variable: string): string => variable.replace(/_ROOT$/, '_HOST_ROOT');

function seen({ path, hostPath: root, writable }: Mount, hostPath: string): Place {
  return { path: below(path, hostPath.slice(root.length)), hostPath, inside: writable };
}

/** Both are without dots already. */
const below = (folder: string, rest: string): string =>
  rest.startsWith('/') && folder !== '/' ? `${folder}${rest}` : trimmed(join(folder, rest));

function within<K extends 'path' | 'hostPath'>(mounts: readonly Mount[], path: string, side: K): Mount | undefined {
  return mounts.find((mount) => isWithin(path, mount[side]));
}

export function isWithin(path: string, folder: string): boolean {
  if (!path.startsWith(folder)) return false;
  return path.length === folder.length || folder === '/' || path[folder.length] === '/';
}

/** Without dots, and without a slash at its end. */
function trimmed(path: string): string {
  // Nearly all are so already.
  if (path.startsWith('/') && !/\/(?:\/|\.{1,2}(?:\/|$))|.\/$/.test(path)) return path;
  const plain = normalize(path);
  return plain.length > 1 && plain.endsWith('/') ? plain.slice(0, -1) : plain;
}

/** Behind all links, as far as it exists. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Missing, or not ours to look into: what is above it decides.
    const above = dirname(path);
    return above === path ? path : join(realPath(above), basename(path));
  }
}
