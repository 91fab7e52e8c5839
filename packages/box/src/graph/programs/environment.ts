/** What a program of the graph on the host sees of the world: what it declares, where things are, and nothing else of the box. */

import type { Config } from '../../config.ts';
import type { Graph } from '../graph.ts';

/** Of the person who runs the box; never the box's own settings, which hold its secrets. */
const inherited = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const;
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function hostEnvironment(
  config: Config,
  graph: Pick<Graph, 'variables'>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = inherited.flatMap((name) => {
    const value = config.variable(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: defaultPath, ...Object.fromEntries(given), ...pathVariables(graph.variables), ...own };
}

/** Where folders are for who runs on the host: SKILLBOX_REPOS_ROOT is there what SKILLBOX_REPOS_HOST_ROOT names. */
function pathVariables(variables: Readonly<Record<string, string>>): Record<string, string> {
  const roots = Object.entries(variables).filter(([name]) => /^SKILLBOX_\w+_ROOT$/.test(name));
  return Object.fromEntries(roots.map(([name, value]) => [name, variables[name.replace(/(?<!_HOST)_ROOT$/, '_HOST_ROOT')] ?? value]));
}
