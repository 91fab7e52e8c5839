/** A piece of the product as a program of its own, so that a test can run several at once and kill them. */

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Loader, type Plugin } from 'esbuild';

const repository = resolve(import.meta.dirname, '../..');
let made = 0;

/**
 * Path of a module made of `source`, whose imports are relative to the repository. It goes away with this process. `instead` has other
 * contents for modules, by the end of their path.
 */
export async function bundleProgram(source: string, instead: Readonly<Record<string, string>> = {}): Promise<string> {
  const cache = join(repository, 'node_modules/.cache/test-programs');
  made += 1;
  const outfile = join(cache, `${process.pid}-${made}.mjs`);
  mkdirSync(cache, { recursive: true });
  process.once('exit', () => rmSync(outfile, { force: true }));
  await build({
    stdin: { contents: source, resolveDir: repository, loader: 'ts' },
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', sourcemap: 'inline' },
    alias: { '@skillbox/protocol': join(repository, 'packages/protocol/src/index.ts') },
    plugins: [addresses(instead)],
    logLevel: 'error',
  });
  return outfile;
}

// Each module keeps its own address, so that what lies beside the source is found from the bundle too.
const addresses = (instead: Readonly<Record<string, string>>): Plugin => ({
  name: 'addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const other = Object.keys(instead).find((end) => path.endsWith(end));
      const contents = (other === undefined ? readFileSync(path, 'utf8') : (instead[other] ?? ''))
        .replaceAll(['import', 'meta', 'url'].join('.'), JSON.stringify(pathToFileURL(path).href))
        .replaceAll(['import', 'meta', 'dirname'].join('.'), JSON.stringify(resolve(path, '..')));
      return { contents, loader: 'ts' as Loader };
    });
  },
});
