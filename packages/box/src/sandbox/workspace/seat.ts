/** Who programs are in the workspace, and where they begin, unless their caller says otherwise. */

import type { ProgramSpec } from '../living.ts';
import { defaultEnv, homeFolder } from '../programs.ts';
import { type GroundParts, rootOf } from './ground.ts';
import { insideBin } from './program.ts';

export interface Seat {
  readonly user: string;
  readonly home: string;
  readonly start: string;
}

export interface WorkspaceParts extends GroundParts {
  readonly user: string;
}

export const seatOf = ({ mounts, user }: WorkspaceParts): Seat => ({
  user,
  home: rootOf(mounts, 'SKILLBOX_HOME_ROOT'),
  start: rootOf(mounts, 'SKILLBOX_WORKSPACE_ROOT'),
});

/** What every other sandbox has by default is replaced, and nothing else. */
export function seated({ user, home, start }: Seat, program: ProgramSpec): ProgramSpec {
  const { HOME, PATH, USER } = defaultEnv;
  const usual = { HOME: [HOME, home], USER: [USER, user], PATH: [PATH, `${home}/.local/bin:${insideBin}:${PATH}`] } as const;
  const replaced = Object.entries(usual).flatMap(([name, [from, to]]) => (program.env[name] === from ? [[name, to]] : []));
  return {
    ...program,
    cwd: program.cwd === homeFolder ? start : program.cwd,
    env: { ...program.env, ...Object.fromEntries(replaced) },
  };
}
