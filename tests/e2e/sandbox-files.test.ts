/** Files of living sandboxes over HTTP, on a real box: streamed, whole, and never outside. */

import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { collect, eventsOf, until } from './wire.ts';

let box: TestBox;
let id: string;

beforeAll(async () => {
  box = await startTestBox();
  id = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'python' } })).body.id;
});
afterAll(async () => {
  await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await box.stop();
});

const files = (rest = '') => `/v1/sandboxes/${id}/files${rest}`;
const at = (path: string, more = '') => files(`?path=${encodeURIComponent(path)}${more}`);
const put = (path: string, content: string | Uint8Array, more = '') => box.json(at(path, more), { method: 'PUT', body: content });
const get = async (path: string, more = '') => (await box.request(at(path, more))).text();
const sh = async (cmd: string) => (await box.json<{ stdout: string }>(`/v1/sandboxes/${id}/programs`, { body: { cmd } })).body.stdout;

describe('one file', () => {
  it('is written and read, whole, in part and at the end', async () => {
    expect(await put('a/b.txt', 'hello')).toMatchObject({
      status: 200,
      body: { path: '/home/user/a/b.txt', kind: 'file', size: 5, mode: 0o644 },
    });
    expect(await put('a/b.txt', ' you', '&append=true')).toMatchObject({ body: { size: 9 } });
    const response = await box.request(at('/home/user/a/b.txt'));
    expect(response.headers.get('content-length')).toBe('9');
    expect(response.headers.get('content-disposition')).toContain('b.txt');
    expect(await response.text()).toBe('hello you');
    expect(await get('a/b.txt', '&offset=1&limit=3')).toBe('ell');
    expect(await get('a/b.txt', '&offset=100')).toBe('');
    expect(await put('run.sh', '#!/bin/sh\necho ran', '&mode=755')).toMatchObject({ body: { mode: 0o755 } });
    expect(await sh('./run.sh')).toBe('ran\n');
    expect(await put('a/b.txt', 'x', '&new=true')).toMatchObject({ status: 409, body: { error: 'already_exists' } });
    expect(await put('empty', new Uint8Array())).toMatchObject({ body: { size: 0 } });
    expect(await get('empty')).toBe('');
    expect(await get('/proc/self/status')).toContain('Name:');
  });

  it('takes a JSON file as bytes like any other, with every strange name', async () => {
    const answer = await box.json(at('data.json'), { method: 'PUT', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } });
    expect(answer).toMatchObject({ status: 200, body: { size: 7 } });
    for (const name of ['ein Name.txt', 'ü%20/#?.txt', '-rf', 'new\nline']) {
      await put(name, name);
      expect(await get(name)).toBe(name);
    }
  });

  it('is refused where it cannot be', async () => {
    expect(await put('/usr/bin/x', 'x')).toMatchObject({ status: 400 });
    expect(await put('a', 'x')).toMatchObject({ status: 400 });
    expect(await put('x\0y', 'x')).toMatchObject({ status: 400 });
    expect(await box.json(at('nothing'))).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await box.json(at('/home/user'))).toMatchObject({ status: 400 });
    expect(await box.json(files())).toMatchObject({ status: 400 });
    expect(await put('ok', 'x', '&mode=9')).toMatchObject({ status: 400 });
    expect(await put('ok', 'x', '&body=y')).toMatchObject({ status: 400 });
  });

  it('that breaks off on its way does not appear', async () => {
    const { hostname, port } = new URL(box.url);
    await new Promise<void>((resolve) => {
      const headers = { Authorization: `Bearer ${box.key}`, 'Content-Length': '1000000' };
      const request = httpRequest({ hostname, port, path: at('partial'), method: 'PUT', headers });
      request.on('error', () => resolve());
      request.write('only the beginning');
      setTimeout(() => request.destroy(), 200);
    });
    expect(await box.json(at('partial'))).toMatchObject({ status: 404 });
    await until(async () => (await sh('ls -A | grep partial | wc -l')) === '0\n');
  });
});

it('one that is larger than the disk is refused with the reason, and only it', async () => {
  expect((await box.json('/v1/templates/tiny', { method: 'PUT', body: { resources: { disk: '8Mi' } } })).status).toBe(200);
  const { body } = await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'tiny' } });
  const path = `/v1/sandboxes/${body.id}/files?path=`;
  expect(await box.json(`${path}large`, { method: 'PUT', body: new Uint8Array(9 * 2 ** 20) })).toMatchObject({
    ...{ status: 403, body: { error: 'quota_exceeded', message: expect.stringContaining('larger than the sandbox allows') } },
  });
  expect((await box.request(`${path}large`)).status).toBe(404);
  expect((await box.json(`${path}small`, { method: 'PUT', body: 'fits' })).status).toBe(200);
  // A program that does the same is told by the kernel, as anywhere.
  const program = { cmd: 'head -c 9000000 /dev/zero > grown' };
  expect((await box.json(`/v1/sandboxes/${body.id}/programs`, { body: program })).body).toMatchObject({ exit_code: 153 });
  await box.request(`/v1/sandboxes/${body.id}`, { method: 'DELETE' });
});

it('folders: made, listed, moved, removed', async () => {
  expect(await box.json(files('/mkdir'), { body: { path: 'f/g' } })).toMatchObject({ status: 201, body: { kind: 'directory' } });
  expect(await box.json(files('/mkdir'), { body: { path: 'f/g' } })).toMatchObject({ status: 409 });
  await put('f/g/one', '1');
  await sh('ln -s /etc/passwd f/link');
  const list = async (query: string) =>
    (await box.json<{ items: { path: string }[] }>(files(`/list?${query}`))).body.items.map(({ path }) => path).sort();
  expect(await list('path=f')).toEqual(['/home/user/f/g', '/home/user/f/link']);
  expect(await list('path=f&depth=2')).toEqual(['/home/user/f/g', '/home/user/f/g/one', '/home/user/f/link']);
  expect(await box.json(files('/stat?path=f/link'))).toMatchObject({ body: { kind: 'symlink', target: '/etc/passwd' } });
  expect(await box.json(files('/move'), { body: { from: 'f/g/one', to: 'f/two' } })).toMatchObject({ body: { path: '/home/user/f/two' } });
  expect((await box.request(at('f'), { method: 'DELETE' })).status).toBe(204);
  expect(await box.json(files('/stat?path=f'))).toMatchObject({ status: 404 });
  expect(await box.json(files('/list?path=f'))).toMatchObject({ status: 404 });
});

it('tells what changes in a folder', async () => {
  await box.json(files('/mkdir'), { body: { path: 'seen' } });
  const stop = new AbortController();
  const response = await box.request(files('/watch?path=seen&recursive=true'), { signal: stop.signal });
  const events = collect(eventsOf(response)).catch(() => undefined);
  const seen: string[] = [];
  void (async () => {
    for await (const event of eventsOf(await box.request(files('/watch?path=seen'), { signal: stop.signal })))
      seen.push(`${event.event} ${(event.data as unknown as { path: string }).path}`);
  })().catch(() => undefined);
  await until(async () => {
    await put('seen/new.txt', 'x');
    return seen.some((line) => line.endsWith('new.txt'));
  });
  stop.abort();
  await events;
});

it('300 MB go in and out with flat memory', { timeout: 120_000 }, async () => {
  const chunk = randomBytes(2 ** 20);
  const size = 300 * 2 ** 20;
  const expected = createHash('sha256');
  const { hostname, port } = new URL(box.url);
  const auth = { Authorization: `Bearer ${box.key}` };
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const status = await new Promise<number>((resolve, reject) => {
    const request = httpRequest({ hostname, port, path: at('large'), method: 'PUT', headers: auth }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    void (async () => {
      for (let sent = 0; sent < size; sent += chunk.length) {
        expected.update(chunk);
        if (!request.write(chunk)) await new Promise((drained) => request.once('drain', drained));
      }
      request.end();
    })();
  });
  expect(status).toBe(200);
  const got = createHash('sha256');
  await new Promise<void>((resolve, reject) => {
    httpRequest({ hostname, port, path: at('large'), headers: auth }, (response) => {
      expect(response.headers['content-length']).toBe(String(size));
      response.on('data', (part: Buffer) => got.update(part));
      response.on('end', resolve);
      response.on('error', reject);
    }).end();
  });
  clearInterval(watch);
  expect(got.digest('hex')).toBe(expected.digest('hex'));
  expect(peak - before).toBeLessThan(150 * 2 ** 20);
  await box.request(at('large'), { method: 'DELETE' });
});

describe('sandbox cp', () => {
  it('carries folders both ways, and follows no link out of either', { timeout: 180_000 }, async () => {
    const { main } = await import('./cli-process.ts');
    const folder = mkdtempSync(join(tmpdir(), 'cp-'));
    mkdirSync(join(folder, 'src', 'deep'), { recursive: true });
    writeFileSync(join(folder, 'src', 'one.txt'), 'one');
    writeFileSync(join(folder, 'src', 'deep', 'run.sh'), '#!/bin/sh\necho deep', { mode: 0o755 });
    symlinkSync('/etc/shadow', join(folder, 'src', 'secret'));
    const cli = (...words: string[]) =>
      main(words, { SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key, SKILLBOX_STATE_ROOT: folder });
    expect(await cli('sandbox', 'cp', join(folder, 'src'), `${id}:copied`)).toMatchObject({ exit: 0 });
    expect(await sh('cat copied/one.txt; ./copied/deep/run.sh; ls copied')).toBe('onedeep\ndeep\none.txt\n');
    expect(await cli('sb', 'cp', join(folder, 'src', 'one.txt'), `${id}:copied/`)).toMatchObject({ exit: 0 });
    await sh('ln -sfn /etc copied/etc; ln -s /etc/passwd copied/passwd');
    expect(await cli('sandbox', 'cp', `${id}:copied`, join(folder, 'back'))).toMatchObject({ exit: 0 });
    expect(readdirSync(join(folder, 'back')).sort()).toEqual(['deep', 'one.txt']);
    expect(readFileSync(join(folder, 'back', 'deep', 'run.sh'), 'utf8')).toContain('deep');
    // A link in the target folder is not followed either.
    mkdirSync(join(folder, 'elsewhere'));
    rmSync(join(folder, 'back', 'deep'), { recursive: true });
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'back', 'deep'));
    expect(await cli('sandbox', 'cp', `${id}:copied`, join(folder, 'back'))).toMatchObject({ exit: 2 });
    expect(readdirSync(join(folder, 'elsewhere'))).toEqual([]);
    expect(await cli('sandbox', 'cp', `${id}:copied/one.txt`, join(folder, 'single.txt'))).toMatchObject({ exit: 0 });
    expect(readFileSync(join(folder, 'single.txt'), 'utf8')).toBe('one');
    expect(await cli('sandbox', 'cp', `${id}:nothing`, folder)).toMatchObject({ exit: 4 });
    expect(await cli('sandbox', 'cp', folder, folder)).toMatchObject({ exit: 2 });
    rmSync(folder, { recursive: true });
  });
});

it('what is another tenant’s does not exist', async () => {
  const key = await box.newKey('stranger', ['sandboxes:read', 'sandboxes:use']);
  await put('mine', 'x');
  for (const [path, options] of [
    [at('mine'), {}],
    [at('mine'), { method: 'PUT', body: 'theirs' }],
    [at('mine'), { method: 'DELETE' }],
    [files('/stat?path=mine'), {}],
    [files('/list'), {}],
    [files('/watch'), {}],
    [files('/mkdir'), { body: { path: 'x' } }],
    [files('/move'), { body: { from: 'mine', to: 'x' } }],
  ] as const)
    expect([path, (await box.json(path, { key, ...options })).status]).toEqual([path, 404]);
  expect(await get('mine')).toBe('x');
});
