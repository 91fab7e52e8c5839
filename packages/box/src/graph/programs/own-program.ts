/** The box's own program once more, in the background: its server and its pulse. */

import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { type Config, inheritedEnv } from '../../config.ts';
import { packageRoot } from '../../package-root.ts';
import type { Ending } from '../../process/endings.ts';
import type { ProcessIdentity } from '../../process/identity.ts';
import { type RotateOptions, rotateLog, sizeOfFile, tailOfFile } from '../../process/log-file.ts';
import { startProgram } from '../../process/program.ts';

const tailLines = 20;

export interface OwnProgram {
  readonly identity: ProcessIdentity;
  /** undefined while it runs. */
  ending(): Ending | undefined;
  /** start_failed with what it wrote since this start; `who` begins the sentence. */
  failure(who: string): BoxError;
}

/** `words` are those after skillbox; it sees the environment of this process. */
export async function startOwnProgram(config: Config, words: readonly string[], log: string, bounds?: RotateOptions): Promise<OwnProgram> {
  rotateLog(log, bounds);
  const before = sizeOfFile(log);
  const { identity, ended } = await startProgram({
    argv: [process.execPath, join(packageRoot(), 'dist', 'cli.js'), ...words],
    cwd: config.baseDir,
    env: inheritedEnv(),
    log,
  });
  let ending: Ending | undefined;
  void ended.then((how) => {
    ending = how;
  });
  return {
    identity,
    ending: () => ending,
    failure(who) {
      const tail = tailOfFile(log, tailLines, before).join('\n');
      return new BoxError('start_failed', `${who} did not start. Its last words:\n${tail || '(none)'}`, { hint: `The whole log: ${log}` });
    },
  };
}
