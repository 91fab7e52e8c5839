/**
 * `skillbox` inside the workspace. What is shown there is a copy of the built command line, without maps, native programs and the dashboard,
 * and the very node that runs the box: the one that the host has in /usr may be another, or none. Both are read-only.
 */

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import { proxyPort } from '../egress/environment.ts';

/** A file or folder of the host that the workspace sees at a path of its own and can only read. */
export interface Shown {
  /** On the stage of the launcher. */
  readonly name: string;
  readonly host: string;
  readonly at: string;
}

const root = '/opt/skillbox';
export const insideBin = `${root}/bin`;
/** What agents put into their settings. */
export const insideCommand = `${insideBin}/skillbox`;

/** Where the box answers inside: the relay of the channel, named as such since not every program heeds a proxy. */
const insideUrl = `http://127.0.0.1:${proxyPort}/graph`;

/**
 * Written into `folder`, file by file, so that a workspace that is there already sees the new ones. `built`: where the build put the
 * command line; `node`: the program that runs it.
 */
export function openProgram(
  folder: string,
  { built = join(packageRoot(), 'dist'), node = process.execPath }: { built?: string; node?: string } = {},
): Shown[] {
  const modules = existsSync(built) ? readdirSync(built).filter((name) => name.endsWith('.js') || name === 'help.json') : [];
  const files = new Map<string, Buffer>([
    ...modules.map((name): [string, Buffer] => [`lib/${name}`, readFileSync(join(built, name))]),
    ['lib/package.json', Buffer.from('{ "name": "skillbox", "type": "module" }\n')],
    ['bin/skillbox', Buffer.from(wrapper)],
    // A place for what is put over it.
    ['node', Buffer.alloc(0)],
  ]);
  // The entry comes last: who calls it meanwhile finds the old files or the new ones.
  const inOrder = [...files].sort(([one], [other]) => Number(one === entry) - Number(other === entry));
  for (const [name, content] of inOrder) writeWhole(folder, name, content);
  for (const name of readdirSync(join(folder, 'lib'))) if (!files.has(`lib/${name}`)) rmSync(join(folder, 'lib', name), { force: true });
  return [{ name: 'program', host: folder, at: root }, ...shownNode(node)];
}

const entry = 'lib/cli.js';

function shownNode(node: string): Shown[] {
  // One that was replaced while it ran is not there any more: the workspace then takes what it has.
  return existsSync(node) ? [{ name: 'program-node', host: realpathSync(node), at: `${root}/node` }] : [];
}

/** Readable for everybody, whatever the umask: the workspace has another uid. */
function writeWhole(folder: string, name: string, content: Buffer): void {
  const path = join(folder, name);
  for (const parent of [folder, dirname(path)]) {
    mkdirSync(parent, { recursive: true, mode: 0o755 });
    chmodSync(parent, 0o755);
  }
  if (existsSync(path) && readFileSync(path).equals(content)) return;
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, content);
  chmodSync(fresh, name.startsWith('bin/') ? 0o755 : 0o644);
  renameSync(fresh, path);
}

/** A container may be of an image whose library of C is another: then its own node is as good, if it has one. */
const wrapper = `#!/bin/sh
# The command line of the box that this workspace belongs to. Written by the box: changes here are lost.
program=${root}
if [ ! -f "$program/lib/cli.js" ]; then
  echo 'skillbox: the box that this workspace belongs to has not been built.' >&2
  exit 127
fi
if "$program/node" --version >/dev/null 2>&1; then
  node=$program/node
elif node --version >/dev/null 2>&1; then
  node=node
else
  echo 'skillbox: there is no node in this workspace, and that of the box does not run here. Install Node.js 20 or later into ~/.local/bin,' >&2
  echo "or use the API without it: curl ${insideUrl}/v1/runtime" >&2
  exit 127
fi
SKILLBOX_INSIDE=${insideUrl}
SKILLBOX_SERVER_URL=\${SKILLBOX_SERVER_URL:-$SKILLBOX_INSIDE}
export SKILLBOX_INSIDE SKILLBOX_SERVER_URL
exec "$node" "$program/lib/cli.js" "$@"
`;
