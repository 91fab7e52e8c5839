import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from '../machines/connection.ts';
import { createPlacementHost } from './placement-host.ts';

/** The scripts with a real shell, and programs that say which of them was called: one of the spellings cannot be had here. */
describe('compose on a host', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sb-place-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const program = (name: string, script: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  const plugin = `[ "$1" = compose ] || exit 1
[ "$2" = version ] && { echo 2.24.5; exit; }
echo "plugin $*; $DOCKER_HOST; $LEAKED"`;
  const host = () => {
    const run: Connection['run'] = async (script, args = []) => {
      const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder, LEAKED: 'yes', COMPOSE_FILE: '/etc/passwd' };
      const asked = { env, encoding: 'utf8' as const };
      return (await promisify(execFile)('/bin/sh', ['-c', script, 'sh', ...args], asked)).stdout;
    };
    return createPlacementHost({ run } as Connection, '/engine.sock', 'me');
  };

  it('is the plugin where both are there', async () => {
    program('docker', plugin);
    program('docker-compose', 'echo 1.29.2');
    expect(await host().compose()).toEqual({ words: 'docker compose', version: '2.24.5' });
  });

  it('is the older program where there is no plugin, whatever docker says then', async () => {
    program('docker', 'echo "unknown flag: --short"; exit 125');
    program('docker-compose', 'echo 1.29.2');
    expect(await host().compose()).toEqual({ words: 'docker-compose', version: '1.29.2' });
    program('docker', 'echo "Usage: docker"');
    expect(await host().compose()).toMatchObject({ words: 'docker-compose' });
  });

  it('is missing where there is neither', async () => {
    program('docker', 'exit 1');
    program('docker-compose', 'exit 1');
    await expect(host().compose()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('docker-compose') });
  });

  it('is called with the engine of the host and nothing of the account’s environment', async () => {
    program('docker', plugin);
    const placement = host();
    const at = { sandbox: 's1', folder: await placement.create('s1'), project: 'p' };
    const said = await placement.resolve(at, ['a b.yml'], ['test'], 5000);
    expect(said).toBe(
      `plugin compose --project-name p -f a b.yml --profile test --project-directory ${at.folder}/project config; unix:///engine.sock; \n`,
    );
    await expect(placement.create('s1')).rejects.toMatchObject({ code: 'already_exists' });
    await placement.remove(at);
    expect((await placement.list()).sandboxes).toEqual([]);
  });

  it('is ended when it takes too long', async () => {
    program('docker', `${plugin}\nsleep 20`);
    const placement = host();
    const at = { sandbox: 's1', folder: await placement.create('s1'), project: 'p' };
    await expect(placement.resolve(at, [], [], 1000)).rejects.toThrow('longer than 1 s');
  });

  it('never takes a folder of somebody else for one of a sandbox', async () => {
    const placement = host();
    for (const wrong of ['/etc', `${folder}/.skillbox-compose/other/s1`, `${folder}/.skillbox-compose/me/s2`])
      await expect(placement.remove({ sandbox: 's1', folder: wrong, project: 'p' })).rejects.toMatchObject({ code: 'sandbox_failed' });
    await expect(placement.remove({ sandbox: '..', folder: '/x/.skillbox-compose/me/..', project: 'p' })).rejects.toMatchObject({
      code: 'sandbox_failed',
    });
  });
});
