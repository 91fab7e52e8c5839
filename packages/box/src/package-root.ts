/** Where the package is, seen from a source file and from the bundle alike: what the build makes is found from there. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BoxError } from '@skillbox/protocol';

export function packageRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === 'skillbox') return folder;
    if (dirname(folder) === folder) throw new BoxError('internal', 'The package folder of skillbox was not found.');
  }
}
