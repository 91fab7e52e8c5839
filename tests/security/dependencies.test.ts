import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { Execution } from '@skillbox/protocol';
import { type Header, pack } from 'tar-stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { declaredDependencies } from '../../packages/box/src/skills/dependencies/declared.ts';
import { buildKey, findToolchain, type Toolchain } from '../../packages/box/src/skills/dependencies/toolchain.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { pythonAnswer, skillFiles } from '../support/skills.ts';

let box: TestBox;
let toolchain: Toolchain;
beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_PIP_INDEX: 'http://index.invalid/simple/' });
  toolchain = (await findToolchain('python', box.box.provider.interpreter('python'), box.box.config)) as Toolchain;
});
afterAll(() => box.stop());

type Entry = Partial<Header> & { name: string; body?: string };

/** As if this tenant's dependencies had been installed, without an index. */
async function install(tenant: string, requirements: string, entries: readonly Entry[]): Promise<void> {
  const archive = pack();
  for (const { body = '', ...header } of entries) {
    if (header.type === undefined) archive.entry(header, body);
    else archive.entry(header);
  }
  archive.finalize();
  const { digest } = await box.box.store.blobs.put(gzipSync(Buffer.concat(await Readable.from(archive).toArray())));
  const declared = declaredDependencies([{ path: 'requirements.txt', mode: 0o644, data: Buffer.from(requirements) }], 'python');
  const lock = declared?.lock ?? '';
  const now = new Date().toISOString();
  await box.box.store.database.kysely
    .insertInto('dependency_builds')
    .values({
      ...{ tenant, lock, key: buildKey(tenant, lock, toolchain), state: 'available', attempt: 1, restarts: 0, log: '', error: null },
      ...{ blob: digest, packed: 1, size: 1, files: 1, host: box.box.host, actor: 'atm:test' },
      ...{ created_at: now, started_at: now, finished_at: now, used_at: now },
    })
    .execute();
}

const attempts = `
import errno
def attempt(action, *args):
    try: action(*args); return "ok"
    except OSError as error: return errno.errorcode[error.errno]
`;

it('cannot change the dependencies it runs with', async () => {
  await install('default', 'kept==1', [{ name: 'kept.py', body: 'value = 1\n' }]);
  const code = `${attempts}
import kept
value = [
  attempt(open, "/sandbox/deps/new", "w"),
  attempt(os.remove, "/sandbox/deps/kept.py"),
  attempt(os.mkdir, "/sandbox/deps/folder"),
  attempt(os.symlink, "/tmp", "/sandbox/deps/link"),
  attempt(os.utime, "/sandbox/deps"),
  attempt(os.rename, "/sandbox/deps", "/sandbox/gone"),
  attempt(os.rmdir, "/sandbox/deps"),
]`;
  await box.push(skillFiles('changer', 'python', { 'requirements.txt': 'kept==1', 'main.py': pythonAnswer(code) }));
  expect((await box.run('changer')).output).toEqual(['EROFS', 'EROFS', 'EROFS', 'EROFS', 'EROFS', 'EBUSY', 'EBUSY']);
});

it('loads native code of its dependencies, and still none that it wrote', async () => {
  const { readFileSync } = await import('node:fs');
  const folder = readdirSync('/usr/lib').find((name) => existsSync(`/usr/lib/${name}/libz.so.1`)) ?? '';
  const library = readFileSync(`/usr/lib/${folder}/libz.so.1`);
  const archive = [{ name: 'native.so', body: library as unknown as string, mode: 0o6755 }];
  await install('default', 'native==1', archive);
  const code = `
import ctypes, shutil, stat
shutil.copy("/sandbox/deps/native.so", "/tmp/native.so")
def load(path):
    try: ctypes.CDLL(path); return "loaded"
    except OSError: return "refused"
flags = [line.split()[5].split(",") for line in open("/proc/self/mountinfo") if line.split()[4] == "/sandbox/deps"][0]
value = [load("/sandbox/deps/native.so"), load("/tmp/native.so"), oct(stat.S_IMODE(os.stat("/sandbox/deps/native.so").st_mode)),
         [flag for flag in ("ro", "nosuid", "nodev") if flag in flags]]`;
  await box.push(skillFiles('loader', 'python', { 'requirements.txt': 'native==1', 'main.py': pythonAnswer(code) }));
  expect((await box.run('loader')).output).toEqual(['loaded', 'refused', '0o755', ['ro', 'nosuid', 'nodev']]);
});

it('gets nothing that was installed for another tenant', async () => {
  await install('default', 'shared==1', [{ name: 'shared.py', body: 'value = "of the first tenant"\n' }]);
  const files = skillFiles('sharer', 'python', {
    'requirements.txt': 'shared==1',
    'main.py': pythonAnswer('import shared\nvalue = shared.value'),
  });
  expect((await box.push(files)).body).toMatchObject({ dependencies: { state: 'available' } });
  expect((await box.run('sharer')).output).toBe('of the first tenant');

  const key = await box.newKey('second-tenant');
  expect((await box.push(files, key)).body).toMatchObject({ dependencies: { state: 'building' } });
  // Its own are not to be had from that index; what the first one has is not given to it in their place.
  const { body } = await box.json<Partial<Execution> & { error?: unknown }>('/v1/executions', { body: { skill: 'sharer' }, key });
  expect(body.output ?? null).toBeNull();
  expect(JSON.stringify(body.error)).toContain('dependencies_failed');
});

it('is not started with a tree that leads elsewhere, whoever stored it', async () => {
  const outside = join(box.stateRoot, 'stolen');
  const trees: Entry[][] = [
    [{ name: '../stolen', body: 'x' }],
    [
      { name: 'link', type: 'symlink', linkname: box.stateRoot },
      { name: 'link/stolen', body: 'x' },
    ],
    [{ name: 'a/link', type: 'symlink', linkname: '../../../../..' }],
    [{ name: 'device', type: 'character-device', devmajor: 1, devminor: 5 }],
  ];
  for (const [number, entries] of trees.entries()) {
    const requirements = `hostile-${number}==1`;
    await install('default', requirements, entries);
    await box.push(skillFiles(`hostile-${number}`, 'python', { 'requirements.txt': requirements, 'main.py': pythonAnswer('value = 1') }));
    expect(await box.run(`hostile-${number}`)).toMatchObject({ status: 'failed', error: { code: 'dependencies_failed' } });
  }
  expect(existsSync(outside)).toBe(false);
});
