// Builds the package: the bundle with esbuild, the launcher, the guest and the watcher of processes with the C compiler.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const native = process.argv.includes('--native');
const programs = ['launch', 'guest', 'pidwatch'];
const loaded = { 'nest.so': ['guest-frames.c', 'guest-once.c', 'guest-nest.c'], 'end.node': ['node-end.c'] };
const strict = ['-Wall', '-Wextra', '-Werror', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2'];

// What npm installs stays outside, but for what every call of the CLI needs: one small file each instead of two hundred.
const vendored = ['commander', 'zod'];
const fromVendor = {
  name: 'from-vendor',
  setup: ({ onResolve }) =>
    onResolve({ filter: new RegExp(`^(${vendored.join('|')})$`) }, ({ path }) => ({ path: `./vendor-${path}.js`, external: true })),
};
// zod brings its messages in fifty languages, half of its size; ours are English.
const englishOnly = {
  name: 'english-only',
  setup: ({ onLoad }) =>
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: `export { default as en } from './en.js';` })),
};

const common = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  write: false,
  logLevel: 'warning',
};

mkdirSync(join(dist, 'native'), { recursive: true });
cpSync(join(root, 'native', 'warm'), join(dist, 'native', 'warm'), { recursive: true });
if (native || stale()) compileNative();
if (!native) await bundle();

async function bundle() {
  const results = await Promise.all([
    build({
      ...common,
      entryPoints: { cli: 'src/cli/main.ts', 'help-pages': 'src/cli/help-pages.ts' },
      splitting: true,
      sourcemap: true,
      // Shorter to read at every start; names stay, because the log shows them.
      minifyWhitespace: true,
      minifySyntax: true,
      external: Object.keys(dependencies),
      plugins: [fromVendor],
    }),
    build({
      ...common,
      entryPoints: Object.fromEntries(vendored.map((name) => [`vendor-${name}`, name])),
      minify: true,
      banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);` },
      plugins: [englishOnly],
    }),
  ]);
  // The entry comes last, and each file whole: a call of the CLI during a build finds the old files or the new ones.
  const files = results.flatMap(({ outputFiles }) => outputFiles).sort((one, other) => isEntry(one.path) - isEntry(other.path));
  for (const { path, contents } of files) writeWhole(path, contents);
  const { helpPages } = await import(pathToFileURL(join(dist, 'help-pages.js')).href);
  writeWhole(join(dist, 'help.json'), Buffer.from(JSON.stringify(helpPages())));
  const made = new Set(files.map(({ path }) => basename(path)));
  for (const file of readdirSync(dist)) if (/\.js(\.map)?$/.test(file) && !made.has(file)) rmSync(join(dist, file), { force: true });
}

function isEntry(path) {
  return Number(basename(path) === 'cli.js');
}

function writeWhole(path, contents) {
  if (existsSync(path) && readFileSync(path).equals(contents)) return;
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
}

function compileNative() {
  const compiler = ['musl-gcc', 'cc', 'gcc'].find(available);
  if (!compiler) throw new Error('No C compiler found. Install one: sudo apt-get install -y gcc libc6-dev');
  const flags = ['-O2', '-static', ...strict];
  for (const name of programs) {
    // Beside it first: a server that starts meanwhile finds the old program or the new one.
    const made = join(dist, 'native', name);
    execFileSync(compiler, [...flags, '-o', `${made}.${process.pid}`, ...sourcesOf(name)], { stdio: 'inherit' });
    renameSync(`${made}.${process.pid}`, made);
  }
  compileLoaded();
}

/** Loaded into the interpreters of the host, so that they are linked against their library of C. */
function compileLoaded() {
  const compiler = ['cc', 'gcc'].find(available);
  if (!compiler) throw new Error('No C compiler found. Install one: sudo apt-get install -y gcc libc6-dev');
  const flags = ['-O2', '-shared', '-fPIC', '-fvisibility=hidden', ...strict];
  for (const [name, parts] of Object.entries(loaded)) {
    const made = join(dist, 'native', 'warm', name);
    const sources = parts.map((part) => join(root, 'native', part));
    execFileSync(compiler, [...flags, '-o', `${made}.${process.pid}`, ...sources], { stdio: 'inherit' });
    renameSync(`${made}.${process.pid}`, made);
  }
}

/** launch.c; guest.c and its parts; pidwatch.c. */
function sourcesOf(name) {
  const folder = join(root, 'native');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.c') && (file === `${name}.c` || file.startsWith(`${name}-`)))
    .map((file) => join(folder, file));
}

function stale() {
  const sources = readdirSync(join(root, 'native')).map((file) => statSync(join(root, 'native', file)).mtimeMs);
  return [...programs, ...Object.keys(loaded).map((name) => `warm/${name}`)].some((name) => {
    const made = join(dist, 'native', name);
    return !existsSync(made) || statSync(made).mtimeMs < Math.max(...sources);
  });
}

function available(program) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    // Not installed, or not working: the next one is tried.
    return false;
  }
}
