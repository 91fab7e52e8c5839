/**
 * Files at a place of the graph. On the host's own ground they are written as usual; what the workspace can write is never followed:
 * link by link from its root, refusing links, so that nothing inside can lead the host elsewhere.
 */

import type { Place } from './graph.ts';

export interface WriteOptions {
  readonly mode: number;
}

/** undefined when there is nothing, or when the way there leads over a link inside. */
export function readAt(_place: Place): Buffer | undefined {
  throw new Error('being written');
}

/** Whole or not at all; makes the folders above. */
export function writeAt(_place: Place, _content: Buffer | string, _options: WriteOptions): void {
  throw new Error('being written');
}

export function existsAt(_place: Place): boolean {
  throw new Error('being written');
}

export function makeFolderAt(_place: Place): void {
  throw new Error('being written');
}
