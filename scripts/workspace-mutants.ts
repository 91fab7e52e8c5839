/** Layers of the workspace for mutate-boundary.ts. */

import type { Edit, Mutant } from './mutants.ts';

const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file, find, replace });
const launch = edit('packages/box/native/launch.c');
const command = edit('packages/box/src/sandbox/providers/bubblewrap/command.ts');
const template = edit('packages/box/src/sandbox/workspace/template.ts');
const sandboxes = edit('packages/box/src/sandbox/create-sandboxes.ts');
const dockerSandbox = edit('packages/box/src/sandbox/providers/docker/sandbox.ts');
const output = edit('packages/box/src/graph/sandboxed-output.ts');

const mutant = (layer: string, title: string, ...edits: Edit[]): Mutant => ({
  layer,
  edits,
  test: { file: 'workspace.test.ts', title },
});

const byDocker = (layer: string, title: string, ...edits: Edit[]): Mutant => ({
  layer: `workspace by docker: ${layer}`,
  edits,
  test: { file: 'workspace-docker.test.ts', title },
});

export const workspaceMutants: readonly Mutant[] = [
  mutant(
    'workspace: logs of the box are shown read-only',
    'writes neither the logs of the box nor the overlays, by whatever name',
    launch('(read_only ? 1u /* MOUNT_ATTR_RDONLY */ : 0u)', '(read_only ? 0u : 0u)'),
  ),
  mutant(
    'workspace: overlays are shown read-only',
    'writes neither the logs of the box nor the overlays, by whatever name',
    launch('else if (bind->read_only) make_read_only(path);', 'else if (bind->read_only && fd < 0) make_read_only(path);'),
    command("read: 'show',", "read: 'show-own',"),
    launch('(read_only ? 1u /* MOUNT_ATTR_RDONLY */ : 0u)', '(read_only ? 0u : 0u)'),
  ),
  mutant(
    'workspace: no step of the way to a mount is a link',
    'leads its next start nowhere by a link in the place of %s',
    launch(
      'int next = openat(folder, step, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);',
      'int next = openat(folder, step, O_PATH | O_DIRECTORY | O_CLOEXEC);',
    ),
  ),
  mutant(
    'workspace: only the built-in template has folders',
    'is the box’s own: no other tenant makes, uses or sees it, nor any other template its folders',
    template("name === workspaceName && source === 'built-in'", "name === workspaceName || name === 'sly'"),
    sandboxes('if (isWorkspace(template) && caller.tenant !== workspaceTenant)', 'if (false)'),
  ),
  mutant(
    'workspace: it is the box’s own tenant’s',
    'is the box’s own: no other tenant makes, uses or sees it, nor any other template its folders',
    sandboxes('if (isWorkspace(template) && caller.tenant !== workspaceTenant)', 'if (false)'),
  ),
  mutant(
    'workspace: only administrators make it',
    'is the box’s own: no other tenant makes, uses or sees it, nor any other template its folders',
    template('admin_only: true', 'admin_only: false'),
  ),
  mutant(
    'workspace: output is written on the host’s own ground only',
    'chooses no other log, file or program of the host by what its programs are called or write',
    output('if (record && leadsInside(record.log, inside)) {', 'if (record && inside.length === 0) {'),
  ),
  byDocker(
    'no step of the way to a mount is a link',
    'leads its next start nowhere by a link in the place of %s',
    launch(
      'int next = openat(folder, step, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);',
      'int next = openat(folder, step, O_PATH | O_DIRECTORY | O_CLOEXEC);',
    ),
  ),
  byDocker(
    'logs of the box are shown read-only',
    'writes neither the logs of the box nor the overlays, by whatever name',
    launch('(read_only ? 1u /* MOUNT_ATTR_RDONLY */ : 0u)', '(read_only ? 0u : 0u)'),
  ),
  byDocker(
    'its mounts have neither devices nor setuid',
    'has no mounts of the host but its own folders, and writes only those',
    launch('.set = 0x2 /* MOUNT_ATTR_NOSUID */ | 0x4 /* MOUNT_ATTR_NODEV */', '.set = 0'),
  ),
  byDocker(
    'nothing runs before it has its folders',
    'is not used without its folders, whoever started it',
    dockerSandbox('const isWhole = (): boolean => !workspace || existsSync(handedOver);', 'const isWhole = (): boolean => true;'),
  ),
];
