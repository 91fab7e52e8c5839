// Builds the package: the bundle with esbuild, the launcher and the guest with the C compiler.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
// What npm installs stays outside, but for zod: its two hundred files take long to find, and every call of the CLI needs them.
const bundled = ['zod'];
const native = process.argv.includes('--native');

mkdirSync(join(dist, 'native'), { recursive: true });
if (native || stale()) compileNative();
if (!native) await bundle();

async function bundle() {
  const { metafile } = await build({
    entryPoints: { cli: join(root, 'src/cli/main.ts') },
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    // Shorter to read at every start; names stay, because the log shows them.
    minifyWhitespace: true,
    minifySyntax: true,
    external: Object.keys(dependencies).filter((name) => !bundled.includes(name)),
    metafile: true,
    logLevel: 'warning',
  });
  // Last, so that a call of the CLI during the build finds the old files or the new ones.
  const made = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
  for (const file of readdirSync(dist)) if (/\.js(\.map)?$/.test(file) && !made.has(file)) rmSync(join(dist, file));
}

function compileNative() {
  const compiler = ['musl-gcc', 'cc', 'gcc'].find(available);
  if (!compiler) throw new Error('No C compiler found. Install one: sudo apt-get install -y gcc libc6-dev');
  for (const name of ['launch', 'guest']) {
    const flags = ['-O2', '-static', '-Wall', '-Wextra', '-Werror', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2'];
    execFileSync(compiler, [...flags, '-o', join(dist, 'native', name), join(root, 'native', `${name}.c`)], { stdio: 'inherit' });
  }
}

function stale() {
  return ['launch', 'guest'].some((name) => {
    const made = join(dist, 'native', name);
    return !existsSync(made) || statSync(made).mtimeMs < statSync(join(root, 'native', `${name}.c`)).mtimeMs;
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
