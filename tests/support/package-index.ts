/** A package index of our own on loopback, with packages that run what a test wants while they are built, and names that lead to it. */

import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { startTarget, type Target } from './egress.ts';
import { startDns } from './small-dns.ts';

export interface PackageIndex {
  /** For the box that builds from it. */
  readonly env: Record<string, string>;
  /** Another server of the same machine, which no build may reach: its name is elsewhere.test. */
  readonly elsewhere: Target;
  /** How often its files were asked for. */
  downloads(name: string): number;
  /** Version 1.0 of a package with one module that says `value = 1`; `code` is Python that runs while it is built. */
  add(name: string, code: string): void;
  stop(): Promise<void>;
}

export async function startPackageIndex(): Promise<PackageIndex> {
  const packages = new Map<string, Buffer | Promise<Buffer>>();
  const server = await startTarget(async (request, response) => {
    request.resume();
    const [, kind, name = ''] = (request.url ?? '').split('/');
    const file = kind === 'files' ? name.replace('-1.0.tar.gz', '') : name;
    const archive = await packages.get(file);
    if (!archive) response.writeHead(404).end();
    else if (kind === 'simple')
      response.setHeader('Content-Type', 'text/html').end(`<a href="/files/${name}-1.0.tar.gz">${name}-1.0.tar.gz</a>`);
    else response.end(archive);
  });
  const elsewhere = await startTarget();
  const dns = await startDns();
  dns.set('index.test', ['127.0.0.1']);
  dns.set('elsewhere.test', ['127.0.0.1']);
  return {
    env: {
      SKILLBOX_PIP_INDEX: `http://index.test:${server.port}/simple/`,
      SKILLBOX_EGRESS_DNS: dns.address,
      SKILLBOX_EGRESS_PRIVATE: 'index.test,elsewhere.test',
    },
    elsewhere,
    downloads: (name) => server.seen.filter(({ url }) => url === `/files/${name}-1.0.tar.gz`).length,
    add: (name, code) => void packages.set(name, sourceOf(name, code)),
    async stop() {
      await Promise.all([server.stop(), elsewhere.stop(), dns.stop()]);
    },
  };
}

/** A source distribution that brings the program which builds it, so that no build tool has to be fetched. */
async function sourceOf(name: string, code: string): Promise<Buffer> {
  const archive = pack();
  const files = {
    'PKG-INFO': `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    'pyproject.toml': '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    'backend.py': `
import os, zipfile
def build_wheel(folder, settings=None, metadata=None):
    code = ${JSON.stringify(code)}
    exec(compile(code, "build", "exec"), {})
    file = "${name}-1.0-py3-none-any.whl"
    info = "${name}-1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, file), "w") as wheel:
        wheel.writestr("${name}.py", "value = 1\\n")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: ${name}\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return file
`,
  };
  for (const [path, text] of Object.entries(files)) archive.entry({ name: `${name}-1.0/${path}` }, text);
  archive.finalize();
  const chunks: Buffer[] = [];
  await pipeline(archive, createGzip(), async (gzip: AsyncIterable<Buffer>) => {
    for await (const chunk of gzip) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}
