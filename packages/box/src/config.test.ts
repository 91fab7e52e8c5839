import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfigSources, loadConfig, settings } from './config.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'config-')));
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (sources: ConfigSources = {}) => loadConfig({ env: {}, cwd: folder, ...sources });
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

describe('precedence', () => {
  it('flags win over the environment, that over .env, that over defaults', () => {
    expect(load().port).toBe(8080);
    write('.env', 'SKILLBOX_API_PORT=1001\n');
    expect(load().port).toBe(1001);
    expect(load({ env: { SKILLBOX_API_PORT: '1002' } }).port).toBe(1002);
    expect(load({ env: { SKILLBOX_API_PORT: '1002' }, flags: { port: '1003' } }).port).toBe(1003);
  });

  it.each(['', ' ', '\t'])('%j counts as not given', (blank) => {
    write('.env', 'SKILLBOX_API_PORT=1001\nSKILLBOX_STATE_ROOT=\n');
    const config = load({ env: { SKILLBOX_API_PORT: blank }, flags: { port: blank, manifest: blank, stateRoot: blank } });
    expect(config).toMatchObject({ port: 1001, manifest: undefined, stateRoot: join(folder, '.skillbox-state') });
  });
});

describe('values', () => {
  it.each([
    ['SKILLBOX_MAX_MEMORY', '1Gi', 'maxMemory', 2 ** 30],
    ['SKILLBOX_MAX_MEMORY', '500MB', 'maxMemory', 500e6],
    ['SKILLBOX_MAX_DISK', '1048576', 'maxDisk', 2 ** 20],
    ['SKILLBOX_MAX_TIMEOUT', '1h', 'maxTimeout', 3_600_000],
    ['SKILLBOX_MAX_TIMEOUT', '2m30s', 'maxTimeout', 150_000],
    ['SKILLBOX_QUEUE_TIMEOUT', '90', 'queueTimeout', 90_000],
    ['SKILLBOX_DRAIN_TIMEOUT', '500ms', 'drainTimeout', 500],
    ['SKILLBOX_MAX_CPU', '1.5', 'maxCpu', 1.5],
    ['SKILLBOX_STANDBY', '0', 'standby', 0],
    ['SKILLBOX_API_PORT', '0', 'port', 0],
    ['SKILLBOX_SERVER_URL', 'http://localhost:8080', 'serverUrl', 'http://localhost:8080'],
  ] as const)('%s=%s', (variable, text, name, value) => expect(load({ env: { [variable]: text } })[name]).toBe(value));

  it.each([
    ['SKILLBOX_API_PORT', 'http'],
    ['SKILLBOX_API_PORT', '70000'],
    ['SKILLBOX_API_PORT', '80.5'],
    ['SKILLBOX_MAX_MEMORY', 'lots'],
    ['SKILLBOX_MAX_MEMORY', '-1Gi'],
    ['SKILLBOX_MAX_TIMEOUT', '5 parsecs'],
    ['SKILLBOX_MAX_TIMEOUT', '0'],
    ['SKILLBOX_LEASE_TTL', '0s'],
    ['SKILLBOX_MAX_CPU', '0'],
    ['SKILLBOX_MAX_PROCESSES', '0'],
    ['SKILLBOX_MAX_CONCURRENT_EXECS', '0'],
    ['SKILLBOX_QUEUE_SIZE', 'Infinity'],
    ['SKILLBOX_LOG_LEVEL', 'loud'],
    ['SKILLBOX_SERVER_URL', 'localhost:8080'],
    ['SKILLBOX_PUBLIC_URL', 'file:///etc'],
    ['SKILLBOX_SECRET_KEY', 'short'],
  ])('%s=%s is refused by name', (variable, text) => {
    const error = thrownBy(() => load({ env: { [variable]: text } }));
    expect(error).toMatchObject({ code: 'config_invalid', details: { variable } });
    expect(error.message).toContain(variable);
  });

  it('a refusal does not repeat a secret', () => {
    expect(thrownBy(() => load({ env: { SKILLBOX_SECRET_KEY: 'hunter2' } })).message).not.toContain('hunter2');
  });

  it('a default follows a lowered maximum, but a chosen one that is above it is refused', () => {
    const lowered = { SKILLBOX_MAX_MEMORY: '64Mi', SKILLBOX_MAX_TIMEOUT: '5s', SKILLBOX_MAX_CPU: '0.25' };
    expect(load({ env: lowered })).toMatchObject({ defaultMemory: 64 * 2 ** 20, defaultTimeout: 5000, defaultCpu: 0.25 });
    const error = thrownBy(() => load({ env: { ...lowered, SKILLBOX_DEFAULT_MEMORY: '65Mi' } }));
    expect(error.message).toContain('SKILLBOX_DEFAULT_MEMORY is not usable: it is more than SKILLBOX_MAX_MEMORY');
  });

  it('each setting has a variable of its own', () => {
    const variables = Object.values(settings).map(({ env }) => env);
    expect(new Set(variables).size).toBe(variables.length);
    for (const variable of variables) expect(variable).toMatch(/^SKILLBOX_[A-Z0-9_]+$/);
  });
});

describe('the manifest', () => {
  it('is looked for upward, and its folder is where .env and the state are', () => {
    write('skillbox.yaml', 'version: 1\n');
    write('.env', 'SKILLBOX_API_PORT=1001\n');
    const below = join(folder, 'a', 'b');
    mkdirSync(below, { recursive: true });
    writeFileSync(join(below, '.env'), 'SKILLBOX_API_PORT=1002\n');
    expect(load({ cwd: below })).toMatchObject({
      manifest: join(folder, 'skillbox.yaml'),
      baseDir: folder,
      stateRoot: join(folder, '.skillbox-state'),
      port: 1001,
    });
  });

  it('the nearest one wins', () => {
    const below = join(folder, 'a');
    mkdirSync(below);
    write('skillbox.yaml', '');
    writeFileSync(join(below, 'skillbox.yaml'), '');
    expect(load({ cwd: below }).manifest).toBe(join(below, 'skillbox.yaml'));
  });

  it('is named by flag before variable, from the working directory', () => {
    write('a.yaml', '');
    write('b.yaml', '');
    expect(load({ env: { SKILLBOX_MANIFEST: 'b.yaml' } }).manifest).toBe(join(folder, 'b.yaml'));
    expect(load({ env: { SKILLBOX_MANIFEST: 'b.yaml' }, flags: { manifest: 'a.yaml' } }).manifest).toBe(join(folder, 'a.yaml'));
  });

  it('one that is named must exist', () => {
    expect(thrownBy(() => load({ flags: { manifest: 'gone.yaml' } }))).toMatchObject({ code: 'manifest_invalid' });
  });

  it('with none, the working directory is the base', () => {
    expect(load()).toMatchObject({ manifest: undefined, baseDir: folder, stateRoot: join(folder, '.skillbox-state') });
  });

  it('inside a workspace there is none, whatever lies around; a box that is named is another', () => {
    write('skillbox.yaml', 'version: 1\n');
    write('.env', 'SKILLBOX_API_PORT=1001\n');
    const SKILLBOX_INSIDE = 'http://127.0.0.1:3128/graph';
    const env = { SKILLBOX_INSIDE, SKILLBOX_SERVER_URL: SKILLBOX_INSIDE };
    expect(load({ env })).toMatchObject({ inside: true, manifest: undefined, baseDir: '/', port: 8080, serverUrl: SKILLBOX_INSIDE });
    expect(load({ env, flags: { serverUrl: 'http://elsewhere' } }).inside).toBe(false);
    expect(load().inside).toBe(false);
  });

  it('a relative state root starts from its folder, an absolute one stands', () => {
    write('skillbox.yaml', '');
    const below = join(folder, 'a');
    mkdirSync(below);
    expect(load({ cwd: below, env: { SKILLBOX_STATE_ROOT: 'state' } }).stateRoot).toBe(join(folder, 'state'));
    expect(load({ flags: { stateRoot: '/srv/state' } }).stateRoot).toBe('/srv/state');
  });
});

describe('.env', () => {
  it.each([
    ['plain', 'x', 'x'],
    ['spaces around', '  x y  ', 'x y'],
    ['comment', 'x # y', 'x'],
    ['only a comment', ' # y', undefined],
    ['hash inside', 'p#ss', 'p#ss'],
    ['hash first', '#x', '#x'],
    ['double quotes', '"x # y"', 'x # y'],
    ['single quotes', "' x '", ' x '],
    ['quotes and comment', '"x" # y', 'x'],
    ['a quote inside', "it's", "it's"],
    ['windows line end', 'x\r', 'x'],
    ['equals signs', 'a=b=c', 'a=b=c'],
    ['empty quotes', '""', undefined],
  ])('%s', (_, text, value) => {
    write('.env', `\uFEFF# SKILLBOX_TENANT=no\nnonsense\n export SKILLBOX_TENANT =${text}\n`);
    expect(load().tenant).toBe(value);
  });

  it('the last line of a variable counts', () => {
    write('.env', '\uFEFFSKILLBOX_TENANT=a\nSKILLBOX_TENANT=b');
    expect(load().tenant).toBe('b');
  });
});

function thrownBy(action: () => unknown): BoxError {
  try {
    action();
  } catch (error) {
    if (error instanceof BoxError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
