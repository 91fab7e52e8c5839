// Runs a TypeScript file of this repository: node scripts/run-ts.mjs FILE [ARGUMENTS]. Node 20 cannot do so itself.

import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const [file, ...args] = process.argv.slice(2);
if (!file) throw new Error('usage: node scripts/run-ts.mjs FILE [ARGUMENTS]');
const cache = join(root, 'node_modules/.cache/run-ts');
const outfile = join(cache, `${process.pid}.mjs`);
const alias = Object.fromEntries(readdirSync(join(root, 'packages')).flatMap(workspaceSource));
// Each module keeps its own address, so that what lies beside the source is found from the bundle too.
const keepAddress = ({ path }) => ({
  contents: readFileSync(path, 'utf8')
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
    .replaceAll('import.meta.dirname', JSON.stringify(resolve(path, '..'))),
  loader: 'ts',
});
const addresses = { name: 'addresses', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, keepAddress) };

mkdirSync(cache, { recursive: true });
process.on('exit', () => rmSync(outfile, { force: true }));
process.setSourceMapsEnabled(true);
process.argv = [process.argv[0] ?? 'node', resolve(file), ...args];
const options = { bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', sourcemap: 'inline' };
await build({ ...options, entryPoints: [file], outfile, alias, plugins: [addresses] });
await import(pathToFileURL(outfile).href);

/** Packages of ours that export source, which Node could not load from node_modules. */
function workspaceSource(name) {
  const folder = join(root, 'packages', name);
  const { name: specifier, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return typeof exports === 'string' && exports.endsWith('.ts') ? [[specifier, join(folder, exports)]] : [];
}
