/** Files of a living sandbox through every door that carries them: the API, E2B's file system and transfers, and `sandbox cp`. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, NotFoundError, SandboxError } from 'e2b';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { copy } from './copy.ts';
import { useInside } from './inside.ts';
import type { Living } from './living.ts';

const inside = useInside();
const secret = 'of the host, for nobody inside';
const fileDoors = ['files', 'E2B files', 'cp'] as const;
let folder: string;
let living: Living;
let neighbour: Living;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-files-'));
  writeFileSync(join(folder, 'host'), secret, { mode: 0o644 });
  living = await inside.living.own();
  neighbour = await inside.living.neighbour();
  await neighbour.request('/files?path=mark', { method: 'PUT', body: 'of a neighbour' });
});
afterAll(() => rmSync(folder, { recursive: true }));

const sh = async (cmd: string): Promise<string> => (await living.json<{ stdout: string }>('/programs', { body: { cmd } })).body.stdout;

interface FileDoor {
  /** The bytes, or nothing when they were refused. */
  read(path: string): Promise<string | undefined>;
  /** Whether it was taken. */
  write(path: string, content: string): Promise<boolean>;
}

const doors: Record<(typeof fileDoors)[number], FileDoor> = {
  files: {
    async read(path) {
      const response = await living.request(`/files?path=${encodeURIComponent(path)}`);
      return response.ok ? response.text() : void (await response.text());
    },
    write: async (path, body) => (await living.request(`/files?path=${encodeURIComponent(path)}`, { method: 'PUT', body })).ok,
  },
  'E2B files': {
    async read(path) {
      const sandbox = await living.e2b();
      return sandbox.files.read(path).catch(refused);
    },
    async write(path, content) {
      const sandbox = await living.e2b();
      return sandbox.files.write(path, content).then(
        () => true,
        (error) => refused(error) ?? false,
      );
    },
  },
  cp: {
    async read(path) {
      const target = join(mkdtempSync(join(folder, 'cp-')), 'got');
      return (await copy(inside.box.url, living, `${living.id}:${path}`, target)) ? readFileSync(target, 'utf8') : undefined;
    },
    async write(path, content) {
      const source = join(mkdtempSync(join(folder, 'cp-')), 'given');
      writeFileSync(source, content);
      return copy(inside.box.url, living, source, `${living.id}:${path}`);
    },
  },
};

/** An answer of the box; anything else is a fault of the way there. */
function refused(error: unknown): undefined {
  if (error instanceof SandboxError || error instanceof NotFoundError || error instanceof InvalidArgumentError) return undefined;
  throw error;
}

/** What an earlier attempt made inside under a path of the host. */
beforeEach(async () => {
  await sh(`rm -rf ${folder} ~/* ~/--* ~/.??*`);
});

describe.each(fileDoors)('through %s', (name) => {
  const door = doors[name];

  it('reads no file of the host, whatever the path', async () => {
    const host = join(folder, 'host');
    const key = join(inside.box.stateRoot, 'admin.key');
    await sh(`ln -sfn ${host} link; ln -sfn / root; ln -sfn ${folder} away; ln -sfn /proc/1/root one; ln -sfn /proc/self/root self`);
    const paths = [
      host,
      key,
      'link',
      `root${host}`,
      'away/host',
      `one${host}`,
      `self${host}`,
      `/proc/1/root${host}`,
      `/proc/self/root${host}`,
    ];
    paths.push(
      `/proc/1/cwd/..${host}`,
      `../../../../..${host}`,
      `/home/user/../..${key}`,
      '/proc/1/environ',
      '/proc/1/mem',
      '/proc/1/fd/3',
    );
    for (const path of paths) expect([path, await door.read(path)]).toEqual([path, undefined]);
    expect(await door.read('/etc/passwd')).toBe(await sh('cat /etc/passwd'));
    expect(await door.read('/etc/passwd')).not.toContain('root:');
  });

  it('writes nowhere but in the work area, and to no file of the host', async () => {
    const before = statSync(join(folder, 'host'));
    await sh(`ln -sfn ${folder}/host link; ln -sfn ${folder} away; ln -sfn /etc etc; ln -sfn /proc/sys/kernel/core_pattern pattern`);
    for (const path of [
      '/etc/planted',
      '/usr/bin/planted',
      '/planted',
      '/proc/sys/kernel/core_pattern',
      'etc/planted',
      'pattern',
      '/.skillbox/guest',
    ])
      expect([path, await door.write(path, 'planted')]).toEqual([path, false]);
    // These make files inside at most, under the same name: the host's stay as they are.
    for (const path of ['link', 'away/host', 'away/planted', join(folder, 'host'), `/proc/1/root${folder}/host`])
      await door.write(path, 'planted');
    const after = statSync(join(folder, 'host'));
    expect([after.mtimeMs, after.ctimeMs, after.size]).toEqual([before.mtimeMs, before.ctimeMs, before.size]);
    expect(readdirSync(folder).filter((entry) => !entry.startsWith('cp-'))).toEqual(['host']);
  });

  it('waits for no fifo, device or socket', async () => {
    await sh(
      'rm -f pipe unix; mkfifo pipe; python3 -c \'import socket; socket.socket(socket.AF_UNIX).bind("unix")\'; ln -sfn /dev/zero zero; ln -sfn /dev/tty tty; ln -sfn pipe topipe',
    );
    const started = Date.now();
    for (const path of ['pipe', 'unix', 'zero', 'topipe', '/dev/zero', '/dev/full', '/dev/tty', '/dev/ptmx', '/dev/random'])
      expect([path, await door.read(path)]).toEqual([path, undefined]);
    for (const path of ['pipe', 'unix', 'topipe', '/dev/tty']) await door.write(path, 'x');
    expect(Date.now() - started).toBeLessThan(5000);
  });

  it('makes nothing that is setuid', async () => {
    await sh('cp /usr/bin/true set; chmod 6755 set');
    expect(await door.write('set', 'new content')).toBe(true);
    expect(await door.write('set-new', 'new content')).toBe(true);
    expect(await sh('stat -c %a set-new')).toMatch(/^[0-7]{3}\n$/);
    const found = execFileSync('find', [inside.box.stateRoot, '-xdev', '-perm', '/6000', '-newer', join(folder, 'host'), '-uid', '0'], {
      encoding: 'utf8',
    });
    expect(found).toBe('');
  });

  it('takes or refuses odd names, and never another file', async () => {
    await door.write('known', 'known');
    for (const path of [
      'line\nbreak',
      'tab\tname',
      '--help',
      '%2e%2e/x',
      '..%2fx',
      'ü中',
      'q\'"$(id)',
      ' ',
      '\u0007bell',
      '...',
      '~root',
    ]) {
      const written = await door.write(path, `content of ${JSON.stringify(path)}`);
      const read = await door.read(path);
      expect([path, read]).toEqual([path, written ? `content of ${JSON.stringify(path)}` : undefined]);
    }
    for (const path of ['nul\0byte', 'x'.repeat(300), `${'deep/'.repeat(2000)}x`, ''])
      expect([path.slice(0, 20), await door.write(path, 'x').catch(() => false)]).toEqual([
        path.slice(0, 20),
        path === '' && name === 'cp',
      ]);
    expect(await door.read('known')).toBe('known');
  });

  it('reads nothing of a neighbour', async () => {
    expect(await door.read('mark')).toBe(undefined);
    expect(await door.read(join(inside.box.stateRoot, 'sandboxes/living', neighbour.id, 'upper/mark'))).toBe(undefined);
  });
});

it('moves, links, lists and watches nothing of the host', async () => {
  const host = join(folder, 'host');
  await sh(`ln -sfn ${folder} away; ln -sfn / root`);
  const move = (from: string, to: string) => living.json('/files/move', { body: { from, to } });
  for (const [from, to] of [
    [host, 'taken'],
    ['away/host', 'taken'],
    ['/proc/1/root/etc/passwd', 'taken'],
    ['/usr/bin/true', 'taken'],
    ['known', '/etc/planted'],
  ] as const)
    expect([from, to, (await move(from, to)).status >= 400]).toEqual([from, to, true]);
  for (const path of [folder, `root${folder}`, `/proc/1/root${folder}`, inside.box.stateRoot])
    expect([path, (await living.json(`/files/list?path=${encodeURIComponent(path)}`)).status >= 400]).toEqual([path, true]);
  expect((await living.json(`/files/watch?path=${encodeURIComponent(inside.box.stateRoot)}`)).status).toBe(404);
  for (const path of [host, `/proc/1/root${host}`, `root${host}`])
    expect([path, (await living.json(`/files?path=${encodeURIComponent(path)}`, { method: 'DELETE' })).status >= 400]).toEqual([
      path,
      true,
    ]);
  expect(readFileSync(host, 'utf8')).toBe(secret);
});
