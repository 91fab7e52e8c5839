/** The workspace made by docker: the engine is told none of its folders, and what is written in them leads no start of it elsewhere. */

import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import type Dockerode from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeProgram } from '../../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { dockerIsInstalled, startDocker, type TestDocker } from '../support/docker.ts';

const secret = 'marker-of-what-the-inside-must-not-see';

interface Ran {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly error?: string;
}

describe.skipIf(!dockerIsInstalled())('the workspace by docker', () => {
  let folder: string;
  let target: string;
  let engine: TestDocker;
  let box: TestBox;
  let sandbox: Sandbox;

  const state = (...parts: string[]): string => join(box.stateRoot, ...parts);
  const exec = async (cmd: string, id = sandbox.id, key?: string): Promise<Ran & { status: number }> => {
    const { status, body } = await box.json<Ran>(`/v1/sandboxes/${id}/programs`, { body: { cmd }, ...(key && { key }) });
    return { ...body, status };
  };
  /** Both streams of it, whatever its exit code. */
  const inside = async (cmd: string, id = sandbox.id): Promise<string> => {
    const { status, stdout, stderr, ...rest } = await exec(cmd, id);
    if (status !== 200) throw new Error(JSON.stringify(rest));
    return (stdout + stderr).trim();
  };
  const make = (body: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    box.json<Sandbox & { error?: string }>('/v1/sandboxes', { body, ...more });
  const pause = (id = sandbox.id) => box.request(`/v1/sandboxes/${id}/pause`, { method: 'POST' });
  const containerOf = async ({ id }: Sandbox): Promise<Dockerode.Container> => {
    const found = await engine.docker.listContainers({ all: true, filters: { label: [`skillbox.sandbox=${id}`] } });
    expect(found).toHaveLength(1);
    return engine.docker.getContainer(found[0]?.Id ?? '');
  };

  beforeAll(async () => {
    engine = await startDocker();
    folder = mkdtempSync(join(tmpdir(), 'sbw-'));
    // Not in /tmp, which the launcher covers with what it works on: there a link would lead nowhere for another reason.
    target = mkdtempSync('/var/tmp/skillbox-target-');
    writeFileSync(join(target, 'own'), secret);
    writeFileSync(
      join(folder, 'skillbox.yaml'),
      `# ${secret}\nversion: 1\nworkspace: { provider: docker, image: '${engine.image}', resources: { processes: 64 } }\n`,
    );
    mkdirSync(join(folder, 'state'));
    box = await startTestBox({
      SKILLBOX_STATE_ROOT: join(folder, 'state'),
      SKILLBOX_MANIFEST: join(folder, 'skillbox.yaml'),
      SKILLBOX_DOCKER_HOST: `unix://${engine.socket}`,
      SKILLBOX_IMAGE_ALLOWLIST: engine.image,
    });
    const made = await make({ template: 'workspace' });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    sandbox = made.body;
  });
  afterAll(async () => {
    await box?.stop();
    await engine?.stop();
    for (const path of [folder, target]) if (path) rmSync(path, { recursive: true, force: true });
  });

  it('is to the engine as closed as any other, which is told none of its folders', async () => {
    const { Config, HostConfig } = await (await containerOf(sandbox)).inspect();
    expect(HostConfig).toMatchObject({
      ...{ Privileged: false, ReadonlyRootfs: true, CapDrop: ['ALL'], NetworkMode: 'none', IpcMode: 'private' },
      // One more than the template says for the guest, one for the way to the box.
      PidsLimit: 66,
      SecurityOpt: ['no-new-privileges', expect.stringMatching(/^seccomp=\{/)],
    });
    expect([HostConfig.CapAdd, HostConfig.Devices, HostConfig.Binds, Config.User]).toEqual([null, [], null, '65534:65534']);
    const user = (name: string) => ({
      ...{ Type: 'bind', ReadOnly: true, Target: `/etc/${name}` },
      Source: state('run/docker/workspace-user', name),
    });
    expect(HostConfig.Mounts).toEqual([
      { Type: 'bind', Source: nativeProgram('guest'), Target: '/.skillbox/guest', ReadOnly: true },
      { Type: 'bind', Source: state('run/docker', sandbox.id), Target: '/.skillbox/run' },
      expect.objectContaining({ Type: 'volume', Target: '/home' }),
      { Type: 'bind', Source: state('run/channels', sandbox.id), Target: '/.skillbox/box', ReadOnly: true },
      user('passwd'),
      user('group'),
      { Type: 'bind', Source: state('run/inside'), Target: '/opt/skillbox', ReadOnly: true },
      { Type: 'bind', Source: realpathSync(process.execPath), Target: '/opt/skillbox/node', ReadOnly: true },
    ]);
    const nothing = 'ro,noexec,nosuid,nodev,size=4096,mode=0555';
    const { '/root': _root, '/tmp': _tmp, ...places } = HostConfig.Tmpfs ?? {};
    expect(places).toEqual({ '/workspace': nothing, '/monoserver': nothing, '/home/sandbox': nothing });
    const status = await inside('grep -E "^(Uid|Gid|CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status /proc/1/status | sort -u');
    expect(status).not.toMatch(/Cap\w+:\t0*[1-9a-f]|NoNewPrivs:\t0|Seccomp:\t0|[UG]id:\t(?!65534)/);
  });

  it('has no mounts of the host but its own folders, and writes only those', async () => {
    const mounts = (await inside('cat /proc/self/mountinfo')).split('\n').map((line) => line.split(' '));
    const ours = mounts
      .filter(([, , , from = '']) => from.startsWith(folder))
      .map(([, , , from = '', at, flags = '']) => [
        from.slice(folder.length),
        at,
        flags.split(',').filter((flag) => /^(r[ow]|no)/.test(flag)),
      ]);
    const [ro, rw] = [
      ['ro', 'nosuid', 'nodev'],
      ['rw', 'nosuid', 'nodev'],
    ];
    expect(ours.filter(([from]) => !`${from}`.startsWith('/state/run/docker/')).sort()).toEqual([
      ['/state/clients', '/workspace/workspace/clients', ro],
      ['/state/home', '/home/sandbox', rw],
      ['/state/logs/runtime', '/workspace/logs/runtime', ro],
      ['/state/logs/services', '/workspace/logs/services', ro],
      ['/state/monoserver', '/monoserver', rw],
      [`/state/run/channels/${sandbox.id}`, '/.skillbox/box', ['ro']],
      ['/state/run/inside', '/opt/skillbox', ['ro']],
      ['/state/workspace', '/workspace', rw],
    ]);
    expect(
      ours
        .filter(([from]) => `${from}`.startsWith('/state/run/docker/'))
        .map(([, at]) => at)
        .sort(),
    ).toEqual([...['/.skillbox/run', '/etc/group', '/etc/passwd']]);
    // Nothing of it shows on the host.
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(`${folder}/state/workspace`);
  });

  it('sees nothing of the box, nor of the engine', async () => {
    for (const path of ['db/marker', 'blobs/marker', 'run/marker', 'sandboxes/marker', 'marker']) writeFileSync(state(path), secret);
    writeFileSync(state('workspace', 'bait'), 'found');
    const key = readFileSync(state('admin.key'), 'utf8').trim();
    const search = (what: string) =>
      `grep -rslF ${what} $(ls -d /* /.[a-z]* | grep -vE '^/(usr|proc|sys|dev|bin|lib.*)$') 2>/dev/null | sort`;
    expect(await inside(search('found'))).toContain('/workspace/bait');
    for (const what of [secret, key]) expect(await inside(`w=${what}; ${search('"$w"')}`)).toBe('');
    const paths = [...['admin.key', 'box.key', 'run/server.json', 'db', 'sandboxes'].map((name) => state(name)), engine.socket];
    for (const path of paths) expect(await inside(`cat ${path}`), path).toContain('No such file');
  });

  it('writes neither the logs of the box nor the overlays, by whatever name', async () => {
    writeFileSync(state('logs/runtime/kept'), 'kept', { mode: 0o600 });
    writeFileSync(state('clients/kept'), 'kept', { mode: 0o644 });
    const attempts = [
      'echo x > $d/new',
      'echo x > $d/kept',
      'rm $d/kept',
      'chmod 777 $d/kept',
      'mv $d/kept $d/moved',
      'ln $d/kept /workspace/hard',
    ];
    const more = ['mkdir $d/folder', 'rmdir $d', 'mv $d /workspace/gone'];
    for (const where of ['/workspace/logs/runtime', '/workspace/workspace/clients'])
      for (const attempt of [...attempts, ...more])
        expect(await inside(`d=${where}; (${attempt}) 2>/dev/null && echo DONE`), `${attempt} in ${where}`).not.toContain('DONE');
    expect(
      await inside('mv /workspace/logs /workspace/l && (echo x > /workspace/l/runtime/new) 2>&1; mv /workspace/l /workspace/logs'),
    ).toContain('Read-only');
    expect([readdirSync(state('logs/runtime')).includes('new'), readdirSync(state('clients'))]).toEqual([false, ['kept']]);
  });

  it.each([
    ['its logs', '/workspace/logs', 'workspace/logs'],
    ['the way to the overlays', '/workspace/workspace', 'workspace/workspace'],
    ['an agent home', '/home/sandbox/.claude', 'home/.claude'],
  ])('leads its next start nowhere by a link in the place of %s', async (_what, path, host) => {
    await inside(`mv ${path} ${path}.kept && ln -s ${target} ${path} && ls -ld ${path}`);
    await pause();
    expect(await exec('true')).toMatchObject({ error: 'sandbox_failed', message: expect.stringContaining('and no link') });
    // Not left running without its folders.
    expect((await (await containerOf(sandbox)).inspect()).State.Running).toBe(false);
    expect(readdirSync(target)).toEqual(['own']);
    expect(lstatSync(state(host)).isSymbolicLink()).toBe(true);
    rmSync(state(host));
    expect(await inside(`rm -rf ${path}; mv ${path}.kept ${path}; echo back`)).toContain('back');
  });

  it('leads no start elsewhere while another workspace swaps links under it', async () => {
    const { body: other } = await make({ template: 'workspace' });
    const swaps = `python3 -c 'import os
os.chdir("/workspace")
while True:
  for a, b in (("logs", "aside"), ("lead", "logs"), ("logs", "lead"), ("aside", "logs")):
    try: os.rename(a, b)
    except OSError: pass'`;
    await inside(`cd /workspace && ln -sfn ${target} lead`);
    await box.json(`/v1/sandboxes/${other.id}/programs`, { body: { cmd: swaps, wait: false } });
    for (let round = 0; round < 5; round += 1) {
      await pause();
      const { error, stdout, status } = await exec('grep -o "/logs/runtime /[^ ]*" /proc/self/mountinfo');
      if (status === 200) expect(stdout).toMatch(/^\/logs\/runtime \/workspace\/\w+\/runtime$/m);
      else expect(error).toBe('sandbox_failed');
    }
    expect(readdirSync(target)).toEqual(['own']);
    await box.request(`/v1/sandboxes/${other.id}`, { method: 'DELETE' });
    for (const name of ['lead', 'logs', 'aside']) if (isLink(state('workspace', name))) rmSync(state('workspace', name));
    if (!existsSync(state('workspace/logs'))) await inside('mv /workspace/aside /workspace/logs');
    expect(await inside('ls /workspace/logs')).toContain('runtime');
  });

  it('is not used without its folders, whoever started it', async () => {
    await inside('echo kept > /workspace/kept');
    await pause();
    // As a server leaves it that dies after the start and before it has given the folders.
    const [socket, seen] = [state('run/docker', sandbox.id, 'guest'), state('run/docker', sandbox.id)];
    chmodSync(seen, 0o733);
    const container = await containerOf(sandbox);
    await container.start();
    await expect.poll(() => existsSync(socket), { timeout: 10_000 }).toBe(true);
    expect(await inside('cat /workspace/kept')).toBe('kept');
    expect(lstatSync(seen).mode & 0o777).toBe(0o700);
    // As somebody else would start it: its guest cannot listen, and nothing runs.
    await pause();
    await container.start();
    await expect.poll(async () => (await container.inspect()).State.Running, { timeout: 10_000 }).toBe(false);
    expect(await inside('cat /workspace/kept; echo more >> /workspace/kept')).toBe('kept');
    expect(readFileSync(state('workspace/kept'), 'utf8')).toBe('kept\nmore\n');
  });

  it('is the box’s own: no other tenant makes, uses or sees it, nor any other template its folders', async () => {
    const key = await box.newKey('other', ['sandboxes:use', 'sandboxes:read']);
    expect((await make({ template: 'workspace' }, { key })).body.error).toBe('forbidden');
    expect((await make({ template: 'workspace' }, { headers: { 'X-Tenant-ID': 'other' } })).body.error).toBe('forbidden');
    expect((await exec('true', sandbox.id, key)).status).toBe(404);
    const options = { workspace: true, image: engine.image, mounts: ['/'], Binds: ['/:/host'], Privileged: true, CapAdd: ['ALL'] };
    await box.json('/v1/templates/sly', { method: 'PUT', body: { providers: ['docker'], image: engine.image, options } });
    const { body: sly } = await make({ template: 'sly' }, { key });
    const seen = await exec('ls -d /workspace /monoserver /host /home/sandbox', sly.id, key);
    expect(seen.stderr.match(/No such file/g)).toHaveLength(4);
    const { HostConfig } = await (await containerOf(sly)).inspect();
    expect([HostConfig.Privileged, HostConfig.CapAdd, HostConfig.Binds, HostConfig.Mounts?.length]).toEqual([false, null, null, 3]);
    await box.request(`/v1/sandboxes/${sly.id}`, { method: 'DELETE', key });
  });

  it('signals no process of the host, and takes no more processes than it has', async () => {
    const victim = spawn('sleep', ['300'], { stdio: 'ignore' });
    await inside(`kill -9 ${victim.pid}; kill -9 ${process.pid}; kill -TERM -1`);
    expect([victim.exitCode, victim.signalCode]).toEqual([null, null]);
    expect(await inside('(for i in $(seq 90); do sleep 2 & done) 2>&1; true')).toContain('Resource temporarily unavailable');
    victim.kill('SIGKILL');
  });
});

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
