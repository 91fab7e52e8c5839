import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface GeneratedFile {
  /** Path in the repository. */
  readonly file: string;
  /** The same text on every machine. */
  render(): string | Promise<string>;
}

/** The files whose text on disk is not what they render; unless only checking, they are written. */
export async function refresh(root: string, files: readonly GeneratedFile[], checkOnly: boolean): Promise<string[]> {
  const stale: string[] = [];
  for (const { file, render } of files) {
    const path = join(root, file);
    const text = await render();
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
    stale.push(file);
    if (checkOnly) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return stale;
}
