import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type GraphGround, graph, hostPlace, newGround } from '../../../../../tests/support/graph.ts';
import { artifact, envFile, insidePlace, log, picture, told, writeDeep } from '../../../../../tests/support/synced.ts';
import type { Artifact, EnvFile, Log } from '../graph.ts';
import { syncArtifacts } from './artifacts.ts';
import { openDigests } from './digests.ts';
import { download } from './download.ts';
import { syncEnvFiles } from './env-files.ts';
import { syncLogs } from './log-folders.ts';
import { fileStates } from './states.ts';

let ground: GraphGround;
let server: Server;
let origin: string;
const content = Buffer.alloc(3 * 2 ** 20, 'artifact ');
const sha = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  server = createServer((request, response) => {
    const { url = '' } = request;
    if (url === '/tool') response.end(content);
    else if (url === '/short') {
      response.writeHead(200, { 'content-length': String(content.length) });
      response.write(content.subarray(0, 1000));
      setTimeout(() => response.destroy(), 20);
    } else if (url === '/slow') response.write('x');
    else if (url === '/once') response.writeHead(302, { location: '/tool' }).end();
    else if (url === '/round') response.writeHead(302, { location: '/round' }).end();
    else if (url === '/file') response.writeHead(302, { location: 'file:///etc/passwd' }).end();
    else if (url === '/endless') {
      const more = (): void => {
        while (response.write(content));
        response.once('drain', more);
      };
      more();
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  ground = newGround();
});
afterEach(() => ground.remove());

describe('artifacts', () => {
  const sync = (items: Artifact[], dryRun = false) =>
    syncArtifacts({ runtime: ground.runtime, dryRun }, items, openDigests(ground.stateRoot));
  const stateOf = async (item: Artifact) => (await fileStates(ground.runtime, graph({ artifacts: [item] }))).artifacts[0]?.state;
  const places = () => [hostPlace(join(ground.folder, 'bin', 'tool')), insidePlace(ground.stateRoot, 'bin/tool')];

  it('come from the network with their hash and executable, and are replaced when they are others', async () => {
    for (const place of places()) {
      const tool = artifact('tool', place, { kind: 'url', url: `${origin}/once`, sha256: sha(content) }, { executable: true });
      const before = picture(ground.folder);
      expect(await stateOf(tool)).toBe('missing');
      expect(told(await sync([tool], true))).toEqual(['tool download planned']);
      expect(picture(ground.folder)).toEqual(before);
      expect(told(await sync([tool]))).toEqual(['tool download done']);
      expect(readFileSync(place.hostPath).equals(content)).toBe(true);
      expect(statSync(place.hostPath).mode & 0o777).toBe(0o755);
      expect(await stateOf(tool)).toBe('ok');
      expect(told(await sync([tool]))).toEqual(['tool download unchanged']);
      chmodSync(place.hostPath, 0o644);
      expect(await stateOf(tool)).toBe('stale');
      writeFileSync(place.hostPath, Buffer.alloc(content.length, 'x'));
      expect(told(await sync([tool]))).toEqual(['tool download done']);
      expect(await stateOf(tool)).toBe('ok');
      expect(readdirSync(join(place.hostPath, '..'))).toEqual(['tool']);
    }
  });

  it.each([
    ['/tool', 'has SHA-256'],
    ['/short', 'could not be fetched'],
    ['/none', 'answers 404'],
    ['/round', 'more than 5 times'],
    ['/file', 'only http and https'],
  ])('that come wrong from %s leave what was there', async (path, message) => {
    for (const place of places()) {
      writeDeep(place.hostPath, 'old');
      const [record] = await sync([artifact('tool', place, { kind: 'url', url: `${origin}${path}`, sha256: sha('something else') })]);
      expect(record).toMatchObject({
        action: 'download',
        result: 'failed',
        error: { error: 'sync_failed', message: expect.stringContaining(message) },
      });
      expect(readFileSync(place.hostPath, 'utf8')).toBe('old');
      expect(readdirSync(join(place.hostPath, '..'))).toEqual(['tool']);
    }
  });

  it('are bounded in size and time', async () => {
    const fd = openSync(join(ground.folder, 'into'), 'w');
    const options = {
      limits: { bytes: 10 * 2 ** 20, totalMs: 20_000, idleMs: 300 },
      signal: ground.runtime.signal,
      onProgress: () => undefined,
    };
    await expect(download(`${origin}/endless`, fd, options)).rejects.toThrow(/more than 10Mi/);
    await expect(download(`${origin}/slow`, fd, options)).rejects.toThrow(/nothing came for 0.3 s/);
    await expect(download('ftp://127.0.0.1/x', fd, options)).rejects.toThrow(/only http and https/);
    closeSync(fd);
  });

  it('are copied from files, with and without a hash', async () => {
    const source = join(ground.folder, 'source');
    writeFileSync(source, 'one');
    const [host, inside] = places();
    if (!host || !inside) throw new Error('no places');
    const plain = artifact('plain', host, { kind: 'file', path: source, sha256: undefined });
    const pinned = artifact('pinned', inside, { kind: 'file', path: source, sha256: sha('one') });
    expect(told(await sync([plain, pinned]))).toEqual(['plain copy done', 'pinned copy done']);
    writeFileSync(source, 'two');
    expect([await stateOf(plain), await stateOf(pinned)]).toEqual(['stale', 'ok']);
    expect(told(await sync([plain, pinned]))).toEqual(['plain copy done', 'pinned copy unchanged']);
    rmSync(inside.hostPath);
    expect((await sync([pinned]))[0]).toMatchObject({ result: 'failed', error: { message: expect.stringContaining('as declared') } });
    expect(existsSync(inside.hostPath)).toBe(false);
    rmSync(source);
    expect(await stateOf(plain)).toBe('present');
  });

  it('that others bring are only looked for', async () => {
    const [place] = places();
    if (!place) throw new Error('no place');
    const manual = artifact('m', place, { kind: 'manual', sha256: undefined }, { sync: 'manual', required: true });
    expect((await sync([manual]))[0]).toMatchObject({ action: 'check', result: 'failed', error: { error: 'needs_input' } });
    expect((await sync([{ ...manual, required: false }]))[0]).toMatchObject({ result: 'skipped' });
    writeDeep(place.hostPath, 'x');
    expect(await stateOf(manual)).toBe('present');
    expect(told(await sync([manual]))).toEqual(['m check unchanged']);
  });

  it('that are large are read once, and again when they change', async () => {
    const place = hostPlace(join(ground.folder, 'large'));
    writeFileSync(place.hostPath, content);
    const first = openDigests(ground.stateRoot);
    expect(await first.of(place)).toBe(sha(content));
    first.keep();
    const { size } = statSync(place.hostPath);
    expect(readFileSync(join(ground.stateRoot, 'run/graph/digests.json'), 'utf8')).toContain(`:${size}:`);
    const changed = Buffer.from(content);
    changed[5] = 0;
    writeFileSync(place.hostPath, changed);
    expect(await openDigests(ground.stateRoot).of(place)).toBe(sha(changed));
  });
});

describe('env files', () => {
  const sync = (items: EnvFile[], dryRun = false) => syncEnvFiles({ runtime: ground.runtime, dryRun }, items);
  const stateOf = async (item: EnvFile) => (await fileStates(ground.runtime, graph({ envFiles: [item] }))).env_files[0]?.state;

  it('are written as their source is, for their owner only', async () => {
    const source = join(ground.folder, 'app.env.source');
    for (const place of [hostPlace(join(ground.folder, 'app/.env')), insidePlace(ground.stateRoot, 'repos/app/.env')]) {
      const file = envFile('app', place, { kind: 'file', path: source }, { required: true });
      rmSync(source, { force: true });
      expect(await stateOf(file)).toBe('source-missing');
      expect((await sync([file]))[0]).toMatchObject({
        result: 'failed',
        error: { error: 'needs_input', hint: expect.stringContaining(source) },
      });
      expect((await sync([{ ...file, required: false }]))[0]).toMatchObject({ result: 'skipped' });
      writeFileSync(source, 'KEY=1\n');
      expect(await stateOf(file)).toBe('missing');
      expect(told(await sync([file], true))).toEqual(['app write planned']);
      expect(existsSync(place.hostPath)).toBe(false);
      const [record] = await sync([file]);
      expect(record?.result).toBe('done');
      expect(JSON.stringify(record)).not.toContain('KEY');
      expect(statSync(place.hostPath).mode & 0o777).toBe(0o600);
      expect(told(await sync([file]))).toEqual(['app write unchanged']);
      chmodSync(place.hostPath, 0o644);
      expect(await stateOf(file)).toBe('stale');
      await sync([file]);
      expect(statSync(place.hostPath).mode & 0o777).toBe(0o600);
      writeFileSync(source, 'KEY=2\n');
      expect(await stateOf(file)).toBe('stale');
      await sync([file]);
      expect(readFileSync(place.hostPath, 'utf8')).toBe('KEY=2\n');
      expect(await stateOf(file)).toBe('ok');
    }
  });

  it('that a person writes are only looked for', async () => {
    const file = envFile('own', hostPlace(join(ground.folder, '.env.own')), { kind: 'manual' }, { sync: 'manual', required: true });
    expect(await stateOf(file)).toBe('missing');
    expect((await sync([file]))[0]).toMatchObject({ action: 'check', result: 'failed', error: { error: 'needs_input' } });
    writeFileSync(file.place.hostPath, 'X=1');
    expect(told(await sync([file]))).toEqual(['own check unchanged']);
    expect(await stateOf(file)).toBe('ok');
  });
});

describe('log folders', () => {
  const sync = (items: Log[], dryRun = false) => syncLogs({ runtime: ground.runtime, dryRun }, items);
  const old = new Date(Date.now() - 10 * 24 * 3600 * 1000);

  it('are made, and freed of what is older than they are kept: files only, and links are not followed', async () => {
    const outside = join(ground.folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'old.log'), 'x');
    utimesSync(join(outside, 'old.log'), old, old);
    for (const place of [hostPlace(join(ground.folder, 'logs')), insidePlace(ground.stateRoot, 'logs/app')]) {
      const item = log('app', place, 7);
      expect(told(await sync([item], true))).toEqual(['app mkdir planned']);
      expect(existsSync(place.hostPath)).toBe(false);
      expect(told(await sync([item]))).toEqual(['app mkdir done']);
      const at = (name: string): string => join(place.hostPath, name);
      for (const name of ['a.log', 'b.log', 'new.log']) writeFileSync(at(name), 'twelve bytes');
      mkdirSync(at('sessions'));
      writeFileSync(at('sessions/old.json'), 'x');
      symlinkSync(outside, at('way-out'));
      symlinkSync(join(outside, 'old.log'), at('link.log'));
      for (const name of ['a.log', 'b.log', 'sessions/old.json', 'sessions']) utimesSync(at(name), old, old);
      const before = picture(place.hostPath);
      expect((await sync([item], true)).at(-1)).toMatchObject({ action: 'expire', result: 'planned', detail: '2 files older than 7 days' });
      expect(picture(place.hostPath)).toEqual(before);
      expect((await sync([item])).at(-1)).toMatchObject({ action: 'expire', result: 'done', detail: '2 files older than 7 days' });
      expect(readdirSync(place.hostPath).sort()).toEqual(['link.log', 'new.log', 'sessions', 'way-out']);
      expect(readdirSync(outside)).toEqual(['old.log']);
      expect(readdirSync(at('sessions'))).toEqual(['old.json']);
      expect(told(await sync([item]))).toEqual(['app mkdir unchanged']);
      expect((await fileStates(ground.runtime, graph({ logs: [item] }))).logs[0]).toMatchObject({
        state: 'ok',
        bytes: 12,
        retention_days: 7,
      });
    }
  });
});
