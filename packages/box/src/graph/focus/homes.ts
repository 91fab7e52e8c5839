/** Where agents look for what they should know. */

import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { Graph, Place } from '../graph.ts';

/** Relative, so that it leads to the same file from both sides. */
export const linkTarget = '../.claude/CLAUDE.md';

export function homePlaces({ stateRoot }: Pick<Config, 'stateRoot'>, { variables }: Graph): { claude: Place; agents: Place } {
  const home = variables.SKILLBOX_HOME_ROOT ?? '/home/sandbox';
  const hostHome = variables.SKILLBOX_HOME_HOST_ROOT ?? join(stateRoot, 'home');
  const at = (path: string): Place => ({ path: join(home, path), hostPath: join(hostHome, path), inside: true });
  return { claude: at('.claude/CLAUDE.md'), agents: at('.codex/AGENTS.md') };
}
