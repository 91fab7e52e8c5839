// Builds the dashboard into the package of the box, unless nothing has changed since.
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const made = join(root, '../box/dist/web');
const sources = ['src', 'index.html', 'vite.config.ts', 'package.json', '../sdk/dist'];

if (stale()) {
  // Beside it first: a server that starts meanwhile finds the old files or the new ones.
  const fresh = `${made}.${process.pid}`;
  const old = `${made}.old.${process.pid}`;
  await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn', build: { outDir: fresh } });
  if (existsSync(made)) renameSync(made, old);
  renameSync(fresh, made);
  rmSync(old, { recursive: true, force: true });
}

function stale() {
  const index = join(made, 'index.html');
  if (!existsSync(index) || process.argv.includes('--force')) return true;
  const time = statSync(index).mtimeMs;
  return sources.some((name) => newest(join(root, name)) > time);
}

function newest(path) {
  const own = statSync(path);
  if (!own.isDirectory()) return own.mtimeMs;
  return Math.max(own.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}
