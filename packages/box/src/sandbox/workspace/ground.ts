/**
 * Which folders of the host the workspace sees, and how they are put together. They come from the configuration of the box alone: no
 * template, request or record names a path of the host. What would show the box itself, or could be led elsewhere from inside, is refused.
 */

import { chmodSync, chownSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { packageRoot } from '../../package-root.ts';
import type { Shown } from './program.ts';

/** As the path mapping of the box has it. */
export interface GroundMount {
  /** Variable of its path inside; its sibling names the folder of the host. */
  readonly variable: string | undefined;
  readonly path: string;
  readonly hostPath: string;
  readonly writable: boolean;
}

/** How the sandbox gets it. Names are the stage's, paths below a name are the inside's own and nothing there is trusted. */
export interface Ground {
  /** Bound at a path of the root. */
  readonly folders: readonly { readonly name: string; readonly host: string; readonly at: string }[];
  /** Put over a path below one of the folders. `own`: files of the box itself, which only root may read otherwise. */
  readonly attached: readonly Attached[];
  /** Made below one of the folders where they are missing. */
  readonly made: readonly { readonly into: string; readonly path: string }[];
  /** Of the box itself, at paths of the root outside of the folders; for reading only, in this order. */
  readonly shown: readonly Shown[];
}

export interface Attached {
  readonly name: string;
  readonly host: string;
  readonly into: string;
  readonly path: string;
  readonly access: 'write' | 'read' | 'read-own';
}

export interface GroundParts {
  readonly mounts: readonly GroundMount[];
  readonly stateRoot: string;
  /** What else of the box is shown inside. */
  readonly shown?: readonly Shown[];
}

/** Parts of the state root that are the inside's by design. */
const ownFolders = ['workspace', 'monoserver', 'home', 'clients'];
const agentHomes = ['.claude', '.codex', '.local'];
/** Nobody's work lies there, and what does is the host's. */
const system = ['/etc', '/proc', '/sys', '/dev', '/run', '/boot', '/usr', '/bin', '/sbin', '/lib', '/lib64'];

/** Throws config_invalid. Looks at the host, and changes nothing. */
export function groundOf({ mounts, shown = [], stateRoot }: GroundParts): Ground {
  const inOrder = [...mounts].sort((one, other) => one.path.length - other.path.length);
  for (const mount of inOrder) refuseUnfit(mount, mounts, stateRoot);
  for (const mount of inOrder) refuseUncertain(mount, mounts);
  const home = rootOf(mounts, 'SKILLBOX_HOME_ROOT');
  const folders: { name: string; host: string; at: string }[] = [];
  const attached: Attached[] = [];
  const made: { into: string; path: string }[] = [];
  /** The folder of the root that a path lies in. */
  const topOf = (path: string) => folders.find(({ at }) => isWithin(path, at));
  for (const [index, mount] of inOrder.entries()) {
    const { path, hostPath, writable } = mount;
    const above = inOrder.slice(0, index).findLast((other) => isWithin(path, other.path));
    const top = topOf(path);
    if (!above || !top) {
      if (writable) folders.push({ name: `ground${index}`, host: hostPath, at: path });
      else throw unfit(mount, `${path} must lie in a folder of the workspace`);
      continue;
    }
    const below = { into: top.name, path: relative(top.at, path) };
    if (writable && above.writable && hostPath === join(above.hostPath, relative(above.path, path))) made.push(below);
    else if (!above.writable) throw unfit(mount, `${path} lies in ${above.path}, which is read-only`);
    else attached.push({ name: `ground${index}`, host: hostPath, ...below, access: accessOf(mount) });
  }
  for (const name of agentHomes) {
    const top = topOf(home);
    if (top) made.push({ into: top.name, path: join(relative(top.at, home), name) });
  }
  return { folders, attached, made, shown };
}

/** Path inside, of the root that a variable names. */
export function rootOf(mounts: readonly GroundMount[], variable: string): string {
  const found = mounts.find((mount) => mount.variable === variable);
  if (found) return found.path;
  throw new BoxError('internal', `The workspace has no ${variable}.`);
}

/** Makes what the host has to have of it. `owner`: to whom files of the inside belong on disk, where the box may give them away. */
export function prepareGround({ folders, attached }: Ground, stateRoot: string, owner: number | undefined): void {
  for (const { host } of [...folders, ...attached.filter(({ access }) => access === 'write')]) {
    const isNew = !existsSync(host);
    if (isNew) mkdirSync(host, { recursive: true, mode: 0o755 });
    // What the operator keeps elsewhere is the operator's to give away.
    const ours = isNew || isWithin(realPath(host), realPath(stateRoot));
    if (owner !== undefined && ours && statSync(host).uid !== owner) chownSync(host, owner, owner);
  }
  for (const { host, access } of attached.filter(({ access }) => access !== 'write')) {
    mkdirSync(host, { recursive: true, mode: access === 'read-own' ? 0o700 : 0o755 });
    // Nobody reaches it from outside of the state root, and inside one must be able to look into it.
    const ours = access === 'read' && isWithin(realPath(host), realPath(stateRoot));
    if (ours && (statSync(host).mode & 0o055) !== 0o055) chmodSync(host, 0o755);
  }
}

/** Logs have no variable of their own: they are the box's. */
const accessOf = ({ variable, writable }: GroundMount): Attached['access'] =>
  writable ? 'write' : variable === undefined ? 'read-own' : 'read';

function refuseUnfit(mount: GroundMount, mounts: readonly GroundMount[], stateRoot: string): void {
  if (mount.variable === undefined) return;
  const host = realPath(mount.hostPath);
  const state = realPath(stateRoot);
  const holder = [...system, homedir()].find((folder) => isWithin(realPath(folder), host));
  if (holder !== undefined) throw unfit(mount, `${mount.hostPath} contains ${holder}`);
  const part = system.find((folder) => isWithin(host, folder));
  if (part !== undefined) throw unfit(mount, `${mount.hostPath} is a part of ${part}`);
  if (isWithin(state, host)) throw unfit(mount, `${mount.hostPath} contains the state root`);
  const program = realPath(packageRoot());
  if (isWithin(program, host) || isWithin(host, program)) throw unfit(mount, `${mount.hostPath} holds the program of the box`);
  if (isWithin(host, state) && !ownFolders.some((name) => isWithin(host, join(state, name))))
    throw unfit(mount, `${mount.hostPath} is a part of the state root that no sandbox may see`);
  const trusted = mounts.find((other) => !other.writable && mount.writable && isWithin(host, realPath(other.hostPath)));
  if (trusted) throw unfit(mount, `${mount.hostPath} is a part of ${trusted.hostPath}, which the workspace may only read`);
}

/** A link that is put there from inside would be followed by the next start. */
function refuseUncertain(mount: GroundMount, mounts: readonly GroundMount[]): void {
  const host = realPath(mount.hostPath);
  const within = mounts.find((other) => other !== mount && other.writable && isStrictlyWithin(host, realPath(other.hostPath)));
  if (within && !isSame(mount, within)) throw unfit(mount, `${mount.hostPath} lies in ${within.hostPath}, which the workspace can write`);
}

/** Inside it lies where the host has it. */
const isSame = (mount: GroundMount, above: GroundMount): boolean =>
  mount.writable && isWithin(mount.path, above.path) && mount.hostPath === join(above.hostPath, relative(above.path, mount.path));

function unfit({ variable = '' }: GroundMount, why: string): BoxError {
  return new BoxError('config_invalid', `${variable.replace(/_ROOT$/, '_HOST_ROOT')}: ${why}.`, {
    hint: 'Name a folder that holds nothing but the work it is for.',
    details: { variable },
  });
}

const isWithin = (path: string, folder: string): boolean => path === folder || isStrictlyWithin(path, folder);
const isStrictlyWithin = (path: string, folder: string): boolean => path !== folder && path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** Behind all links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Missing, or not ours to look into: what is above it decides.
    const above = dirname(path);
    return above === path ? path : join(realPath(above), basename(path));
  }
}
