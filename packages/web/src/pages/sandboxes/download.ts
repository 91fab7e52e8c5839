import type { SandboxHandle } from '@skillbox/sdk';
import { saveStream } from '../../parts/download.ts';
import { nameOf } from './paths.ts';

export async function download(files: SandboxHandle['files'], path: string): Promise<void> {
  await saveStream(nameOf(path), await files.open(path, {}, { timeoutMs: 0 }));
}
