import type { SandboxHandle } from '@skillbox/sdk';
import { nameOf } from './paths.ts';

/** To the reader's disk. As bytes of no kind: what a sandbox holds is never opened as a page of this origin. */
export async function download(files: SandboxHandle['files'], path: string): Promise<void> {
  const body = await files.open(path, {}, { timeoutMs: 0 });
  const blob = await new Response(body, { headers: { 'Content-Type': 'application/octet-stream' } }).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = nameOf(path);
  link.click();
  // The browser needs a moment to take it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
