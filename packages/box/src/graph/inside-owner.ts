/** To whom files belong that the host puts where the workspace can write: its mounts show the files of this owner as the sandbox's own. */

import type { Config } from '../config.ts';
import { diskUid } from '../sandbox/disk-owner.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** undefined: only root can give files away; for anybody else they stay the user's own. */
export function insideOwner(_config?: Config): Owner | undefined {
  return process.getuid?.() === 0 ? { uid: diskUid, gid: diskUid } : undefined;
}
