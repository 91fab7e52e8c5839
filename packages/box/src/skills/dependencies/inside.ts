/** Where a run finds its dependencies, and the variables that lead there. */

import type { DependencyKind } from '@skillbox/protocol';

/** node looks for modules in node_modules beside and above the program, whatever its variables say: hence this place. */
export const mountPoints: Record<DependencyKind, string> = { python: '/sandbox/deps', node: '/sandbox/node_modules' };

/** `path` is what the run would have without them; their programs come last, so that none takes the place of a system's. */
export function dependencyEnv(kind: DependencyKind, path: string): Record<string, string> {
  const at = mountPoints[kind];
  return kind === 'python' ? { PYTHONPATH: at, PATH: `${path}:${at}/bin` } : { PATH: `${path}:${at}/.bin` };
}
