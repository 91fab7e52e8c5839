/** E2B's own SDK against a box: files, watching, signed addresses. */

import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { FileNotFoundError, type FilesystemEvent, InvalidArgumentError, NotFoundError, Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useE2bBox } from './e2b-box.ts';

const held = useE2bBox();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.create();
});
afterAll(async () => {
  await sandbox?.kill();
});

describe('reading and writing', () => {
  it('takes text, bytes, blobs and streams, and gives them back in every format', async () => {
    const text = 'naïve ☃\n';
    expect(await sandbox.files.write('deep/er/text.txt', text)).toMatchObject({ path: '/home/user/deep/er/text.txt', type: 'file' });
    const bytes = new TextEncoder().encode(text);
    await sandbox.files.write('bytes', bytes.buffer as ArrayBuffer);
    await sandbox.files.write('blob', new Blob([text]));
    await sandbox.files.write('stream', new Blob([text]).stream());
    await sandbox.files.write('gzip', text, { gzip: true });
    await sandbox.files.write('octets', text, { useOctetStream: true });
    for (const path of ['~/deep/er/text.txt', '/home/user/bytes', 'blob', 'stream', 'gzip', 'octets']) {
      expect(await sandbox.files.read(path)).toBe(text);
      expect(await sandbox.files.read(path, { format: 'bytes' })).toEqual(bytes);
      expect(await (await sandbox.files.read(path, { format: 'blob' })).text()).toBe(text);
      expect(await new Response(await sandbox.files.read(path, { format: 'stream' })).text()).toBe(text);
    }
    await sandbox.files.write('empty', '');
    expect(await sandbox.files.read('empty')).toBe('');
    expect(await sandbox.files.read('empty', { format: 'bytes' })).toHaveLength(0);
  });

  it('writes many at once, with names that need care', async () => {
    const names = ['a b.txt', 'quote".txt', 'ünï.txt', 'sub/dir/c.txt', '/tmp/elsewhere.txt', '50%.txt'];
    const written = await sandbox.files.write(names.map((path) => ({ path: path.startsWith('/') ? path : `many/${path}`, data: path })));
    expect(written).toHaveLength(names.length);
    expect(await sandbox.files.read('/tmp/elsewhere.txt')).toBe('/tmp/elsewhere.txt');
    expect((await sandbox.files.list('many')).map(({ name }) => name).sort()).toEqual([
      '50%.txt',
      'a b.txt',
      'quote".txt',
      'sub',
      'ünï.txt',
    ]);
    await sandbox.files.writeFiles([{ path: 'many/last', data: 'x' }]);
    expect(await sandbox.files.read('many/last')).toBe('x');
  });

  it('moves large files both ways', async () => {
    const size = 40 * 2 ** 20;
    const data = Buffer.alloc(size, 'the same and the same again ');
    const hash = createHash('sha256').update(data).digest('hex');
    await sandbox.files.write('large', data.buffer.slice(data.byteOffset, data.byteOffset + size) as ArrayBuffer);
    expect((await sandbox.commands.run('sha256sum large')).stdout).toContain(hash);
    await sandbox.files.write('large-stream', new Blob([data]).stream());
    const back = createHash('sha256');
    for await (const piece of (await sandbox.files.read('large-stream', { format: 'stream' })) as unknown as AsyncIterable<Uint8Array>)
      back.update(piece);
    expect(back.digest('hex')).toBe(hash);
    await sandbox.commands.run('rm large large-stream');
  });

  it('says what is not there, what is a folder, and what it does not keep', async () => {
    await expect(sandbox.files.read('nothing')).rejects.toThrow(FileNotFoundError);
    await expect(sandbox.files.read('/tmp')).rejects.toThrow(InvalidArgumentError);
    await expect(sandbox.files.write('a', 'b', { metadata: { who: 'me' } })).rejects.toThrow(/501.*metadata/);
    await expect(sandbox.files.write('/etc/passwd', 'x')).rejects.toThrow();
  });
});

describe('an upload that goes wrong', () => {
  it('leaves nothing, whether it is cut off or not what it says', async () => {
    const headers = { 'Content-Type': 'application/octet-stream' };
    const cutOff = request(await sandbox.uploadUrl('half'), { method: 'POST', headers: { ...headers, 'Content-Length': 1_000_000 } });
    const gone = new Promise((resolve) => cutOff.once('error', resolve));
    cutOff.write(Buffer.alloc(1000));
    setTimeout(() => cutOff.destroy(), 200);
    await gone;
    const url = await sandbox.uploadUrl('broken');
    const broken = await fetch(url, { method: 'POST', body: 'not gzip', headers: { ...headers, 'Content-Encoding': 'gzip' } });
    expect([broken.status, await broken.json()]).toMatchObject([400, { code: 400 }]);
    const unknown = await fetch(url, { method: 'POST', body: 'x', headers: { ...headers, 'Content-Encoding': 'br' } });
    expect(unknown.status).toBe(415);
    const form = await fetch(url, { method: 'POST', body: '--XX\r\n', headers: { 'Content-Type': 'multipart/form-data; boundary=XX' } });
    expect(form.status).toBe(400);
    await expect.poll(async () => (await sandbox.commands.run('ls -A | grep -e half -e broken || true')).stdout).toBe('');
  });
});

describe('files and folders', () => {
  it('are listed, looked at, made, moved and removed', async () => {
    expect(await sandbox.files.makeDir('tree/branch')).toBe(true);
    expect(await sandbox.files.makeDir('tree/branch')).toBe(false);
    await sandbox.files.write('tree/branch/leaf', '12345');
    await sandbox.commands.run('ln -s branch/leaf tree/link && chmod 750 tree/branch/leaf');
    expect((await sandbox.files.list('tree')).map(({ name, type }) => [name, type]).sort()).toEqual([
      ['branch', 'dir'],
      ['link', 'symlink'],
    ]);
    expect((await sandbox.files.list('tree', { depth: 2 })).map(({ path }) => path)).toContain('/home/user/tree/branch/leaf');
    const info = await sandbox.files.getInfo('tree/branch/leaf');
    expect(info).toMatchObject({
      name: 'leaf',
      type: 'file',
      size: 5,
      mode: 0o750,
      permissions: '-rwxr-x---',
      owner: 'user',
      group: 'user',
    });
    expect(Math.abs((info.modifiedTime?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    expect((await sandbox.files.getInfo('tree/link')).symlinkTarget).toBe('branch/leaf');
    expect(await sandbox.files.exists('tree/branch/leaf')).toBe(true);
    expect(await sandbox.files.rename('tree/branch/leaf', 'tree/new/place')).toMatchObject({ path: '/home/user/tree/new/place', size: 5 });
    expect(await sandbox.files.exists('tree/branch/leaf')).toBe(false);
    await sandbox.files.remove('tree');
    await sandbox.files.remove('tree');
    expect(await sandbox.files.exists('tree')).toBe(false);
    await expect(sandbox.files.getInfo('tree')).rejects.toThrow(FileNotFoundError);
    await expect(sandbox.files.list('tree')).rejects.toThrow(NotFoundError);
    await expect(sandbox.files.rename('tree', 'other')).rejects.toThrow(NotFoundError);
    await sandbox.files.write('plain', '');
    await expect(sandbox.files.list('plain')).rejects.toThrow(InvalidArgumentError);
  });

  it('are watched', async () => {
    await sandbox.files.makeDir('watched/sub');
    const events: FilesystemEvent[] = [];
    const watch = await sandbox.files.watchDir('watched', (event) => void events.push(event), { recursive: true, includeEntry: true });
    await sandbox.commands.run('cd watched; echo a > new; echo b > sub/deep; chmod 600 new; mv new moved; rm moved');
    await expect.poll(() => events.some(({ name, type }) => name === 'moved' && type === 'remove')).toBe(true);
    const kinds = new Set(events.map(({ name, type }) => `${type} ${name}`));
    for (const kind of ['create new', 'write new', 'chmod new', 'create sub/deep']) expect([...kinds]).toContain(kind);
    expect(events.find(({ name, type }) => name === 'sub/deep' && type === 'write')?.entry?.path).toBe('/home/user/watched/sub/deep');
    await watch.stop();
    await expect(sandbox.files.watchDir('nowhere', () => undefined)).rejects.toThrow(NotFoundError);
  });
});

describe('signed addresses', () => {
  it('let a plain client write and read one file', async () => {
    const upload = await sandbox.uploadUrl('signed/in.txt');
    const form = new FormData();
    form.append('file', new Blob(['from outside']), 'ignored.txt');
    const sent = await fetch(upload, { method: 'POST', body: form });
    expect(await sent.json()).toMatchObject([{ path: '/home/user/signed/in.txt' }]);
    const download = await sandbox.downloadUrl('signed/in.txt', { useSignatureExpiration: 60 });
    expect(new URL(download).pathname).toBe('/files');
    expect(await (await fetch(download)).text()).toBe('from outside');
  });

  it('stand for nothing else: no other file, no other direction, no later time', async () => {
    const download = await sandbox.downloadUrl('signed/in.txt', { useSignatureExpiration: 60 });
    const changed = (change: (query: URLSearchParams) => void): URL => {
      const url = new URL(download);
      change(url.searchParams);
      return url;
    };
    const refused = [
      changed((query) => query.set('path', 'signed/other.txt')),
      changed((query) => query.set('signature_expiration', String(Number(query.get('signature_expiration')) + 1))),
      changed((query) => query.delete('signature_expiration')),
      changed((query) => query.set('signature', `v1_${'A'.repeat(43)}`)),
      changed((query) => query.delete('signature')),
    ];
    for (const url of refused) expect((await fetch(url)).status).toBe(401);
    expect((await fetch(download, { method: 'POST', body: new FormData() })).status).toBe(401);
    const expired = await sandbox.downloadUrl('signed/in.txt', { useSignatureExpiration: -1 });
    expect((await fetch(expired)).status).toBe(401);
    const answer = await fetch(new URL('/e2b/nothing', held.box.url));
    expect([answer.status, await answer.json()]).toMatchObject([404, { code: 404 }]);
  });
});
