import { APIError, type SandboxHandle } from '@skillbox/sdk';
import type { GivenFile } from '../../parts/dropped-files.ts';
import { joined } from './paths.ts';

interface Options {
  readonly replace: boolean;
  /** Names that the folder is known to have: asked about without a try. */
  readonly known: ReadonlySet<string>;
  onProgress(at: number): void;
}

/** One after the other. What is there already stays, unless it is to be replaced. */
export async function upload(
  files: SandboxHandle['files'],
  folder: string,
  given: readonly GivenFile[],
  { replace, known, onProgress }: Options,
): Promise<{ readonly sent: number; readonly there: GivenFile[] }> {
  const there: GivenFile[] = [];
  for (const [at, each] of given.entries()) {
    onProgress(at + 1);
    if (!replace && known.has(each.path)) {
      there.push(each);
      continue;
    }
    try {
      await files.write(joined(folder, each.path), each.file, replace ? {} : { new: true }, { timeoutMs: 0 });
    } catch (error) {
      if (!(error instanceof APIError) || error.code !== 'already_exists') throw error;
      there.push(each);
    }
  }
  return { sent: given.length - there.length, there };
}
