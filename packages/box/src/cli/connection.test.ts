import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { writeServerRecord } from '../state.ts';
import { findConnection } from './connection.ts';
import { listenerUid } from './listener.ts';

const key = `sk-${'a'.repeat(48)}`;
let stateRoot = '';

beforeEach(() => {
  stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-connection-'));
  mkdirSync(join(stateRoot, 'run'));
  writeFileSync(join(stateRoot, 'admin.key'), `${key}\n`);
});
afterEach(() => rmSync(stateRoot, { recursive: true }));

const find = (env: Record<string, string> = {}) =>
  findConnection(loadConfig({ cwd: stateRoot, env: { SKILLBOX_STATE_ROOT: stateRoot, SKILLBOX_API_PORT: '18080', ...env } }));
const running = (url: string) => writeServerRecord(stateRoot, { url, host: 'h', version: '0' });

describe('which box', () => {
  it('the one that runs here, at the address in its record', () => {
    running('http://127.0.0.1:45678');
    expect(find()).toEqual({ url: 'http://127.0.0.1:45678', key, tenant: undefined });
  });

  it('the configured port when there is no record', () => {
    expect(find().url).toBe('http://127.0.0.1:18080');
  });

  it('a record of a process that is gone does not count', () => {
    writeFileSync(
      join(stateRoot, 'run', 'server.json'),
      JSON.stringify({ pid: process.pid, startTime: '1', url: 'http://127.0.0.1:45678' }),
    );
    expect(find().url).toBe('http://127.0.0.1:18080');
  });

  it('one that listens everywhere is reached on loopback', () => {
    running('http://0.0.0.0:45678');
    expect(find().url).toBe('http://127.0.0.1:45678');
    running('http://[::]:45678');
    expect(find().url).toBe('http://[::1]:45678');
  });

  it('the named one wins', () => {
    running('http://127.0.0.1:45678');
    expect(find({ SKILLBOX_SERVER_URL: 'https://box.example/base/', SKILLBOX_TENANT: 'acme' })).toEqual({
      url: 'https://box.example/base',
      key: undefined,
      tenant: 'acme',
    });
  });
});

describe('the key of the local administrator', () => {
  it.each([
    'https://box.example',
    'http://127.0.0.1:45679',
    'http://127.0.0.2:45678',
    'https://127.0.0.1:45678',
    'http://127.0.0.1.example:45678',
  ])('does not go to %s', (url) => {
    running('http://127.0.0.1:45678');
    expect(find({ SKILLBOX_SERVER_URL: url }).key).toBeUndefined();
  });

  it.each(['http://127.0.0.1:45678', 'http://localhost:45678/', 'http://127.0.0.1:45678/some/path'])(
    'goes to this very box as %s',
    (url) => {
      running('http://127.0.0.1:45678');
      expect(find({ SKILLBOX_SERVER_URL: url }).key).toBe(key);
    },
  );

  it('a given key is used for every box', () => {
    expect(find({ SKILLBOX_API_KEY: 'sk-other', SKILLBOX_SERVER_URL: 'https://box.example' }).key).toBe('sk-other');
  });

  it('does not go to a configured address elsewhere that has no record here', () => {
    expect(find({ SKILLBOX_BIND: '192.0.2.1' }).key).toBeUndefined();
  });

  it('without a record goes to the configured port only while nobody else listens there', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(listenerUid(port)).toBe(process.getuid?.());
    expect(find({ SKILLBOX_API_PORT: String(port) }).key).toBe(key);
    await new Promise((resolve) => server.close(resolve));
    expect(listenerUid(port)).toBeUndefined();
  });
});
