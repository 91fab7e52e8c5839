import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Packed once here instead of for every reader. */
function packed(): Plugin {
  let folder = '';
  return {
    name: 'packed',
    configResolved({ build }) {
      folder = build.outDir;
    },
    writeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        const path = join(folder, name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: '/ui/',
  plugins: [packed()],
  build: {
    outDir: join(import.meta.dirname, '../box/dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    // Nothing as data: in a style or a script: the policy of the page has no place for it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
