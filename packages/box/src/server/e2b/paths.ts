/** Paths as this protocol writes them: relative ones and `~` start at home. */

import { posix } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { homeFolder } from '../../sandbox/programs.ts';

export function resolvePath(path: string): string {
  if (path.includes('\0')) throw new BoxError('bad_request', 'A path cannot have a null byte.');
  return posix.resolve(homeFolder, path.replace(/^~(?=\/|$)/, homeFolder));
}
