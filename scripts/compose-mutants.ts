/** What keeps a compose project from its placement host, and the tests that must notice when it is gone. */

import type { Edit, Mutant } from './mutants.ts';

const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file: `packages/box/src/sandbox/providers/compose-ssh/${file}`, find, replace });
const policy = edit('policy.ts');
const placement = edit('placement-host.ts');

const mutant = (layer: string, title: string, ...edits: Edit[]): Mutant => ({
  layer: `compose: ${layer}`,
  edits,
  test: { file: 'compose-host.test.ts', title },
});

export const composeMutants: readonly Mutant[] = [
  mutant(
    'policy of rights',
    'that asks for %s is not started',
    policy("privileged: (value, where) => when(value !== false && !isEmpty(value), where, 'privileged')", 'privileged: () => []'),
  ),
  mutant(
    'policy of mounts',
    'that asks for %s is not started',
    policy("if (kind !== 'bind' || special || !isInside(source)) return [{ where, needs: 'host_mounts' }];", ''),
  ),
  mutant(
    'files that compose reads',
    'that asks for %s is not started',
    edit('references.ts')(
      'if (target !== undefined && isWithin(project, target)) return target;',
      'if (target !== undefined) return target;',
    ),
  ),
  mutant(
    'links, here and there',
    'with a link to the host in it is not copied there',
    edit('pack-folder.ts')("if (!isInside(root, resolve(path, '..', target)))", 'if (false)'),
    edit('provider.ts')('if (stray !== undefined)', 'if (false)'),
  ),
  mutant(
    'environment of compose, engine',
    'does not choose the engine, the files or the name that compose works with',
    placement(' DOCKER_HOST="unix://$socket"', ''),
  ),
  mutant(
    'look at the moved socket',
    'is spoken to through its guest, and through nothing that a container puts in its place',
    placement(' && [ ! -L "$1/guest" ]', ''),
  ),
];
