/** Skills that name an image: the same contract as ever, in a container that is exactly as closed as we say, with a real engine. */

import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeProgram } from '../../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import { seccompProfile } from '../../packages/box/src/sandbox/providers/docker/seccomp-profile.ts';
import type { Architecture } from '../../packages/box/src/sandbox/providers/guest/syscalls.ts';
import { probeSkill, startTestBox, type TestBox } from '../support/box.ts';
import { dockerIsInstalled, startDocker, type TestDocker, whatIsSet } from '../support/docker.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const mebi = 2 ** 20;

describe.skipIf(!dockerIsInstalled())('a skill in an image', () => {
  let engine: TestDocker;
  let box: TestBox;
  let env: Record<string, string>;

  beforeAll(async () => {
    engine = await startDocker();
    env = { SKILLBOX_DOCKER_HOST: `unix://${engine.socket}`, SKILLBOX_IMAGE_ALLOWLIST: `${engine.image},absent:1` };
    box = await startTestBox({ ...env, SKILLBOX_MAX_ARTIFACTS: '5', SKILLBOX_MAX_ARTIFACT_SIZE: '2Mi', SKILLBOX_MAX_LOG_SIZE: '64Ki' });
    await box.push(imaged('bash', `image: ${engine.image}\nresources:\n  memory: 96Mi\n  cpu: 1\n`));
    await box.push(imaged('python', `image: ${engine.image}\nresources:\n  memory: 96Mi\n`));
  }, 120_000);
  afterAll(async () => {
    await box?.stop();
    await engine?.stop();
  });

  const sh = (probe: string, more: Record<string, unknown> = {}): Promise<Execution> =>
    box.run('probe-bash', { env: { PROBE: probe }, ...more });
  const containers = async (): Promise<string[]> => (await engine.docker.listContainers({ all: true })).map(({ Names }) => Names[0] ?? '');
  const runningContainer = async (): Promise<string> => {
    await expect.poll(containers, { timeout: 10_000 }).toHaveLength(1);
    return (await containers())[0]?.slice(1) ?? '';
  };
  const nothingLeft = async (): Promise<void> => {
    await expect.poll(containers, { timeout: 10_000 }).toEqual([]);
  };

  it('runs there: input, output, files both ways, log, exit code, instructions', async () => {
    const record = await box.run('probe-python', {
      input: {
        code: [
          'import json, os, sys',
          'print("out"); print("err", file=sys.stderr)',
          'given = open(os.environ["SANDBOX_INPUT_DIR"] + "a/b.txt").read()',
          'open(os.environ["SANDBOX_FILES_DIR"] + "made.txt", "w").write(given * 2)',
          'big = open(os.environ["SANDBOX_FILES_DIR"] + "big", "wb"); big.write(b"x" * 1000000); big.close()',
          'json.dump({"dockerenv": os.path.exists("/.dockerenv"), "cwd": os.getcwd(), "home": os.environ["HOME"], "name": os.uname().nodename}, open(os.environ["SANDBOX_OUTPUT"], "w"))',
        ].join('\n'),
      },
      files: { 'a/b.txt': Buffer.from('given ').toString('base64') },
    });
    expect(record).toMatchObject({
      ...{ status: 'success', exit_code: 0, error: null },
      output: { dockerenv: true, cwd: '/sandbox', home: '/tmp', name: 'sandbox' },
    });
    expect(record.logs).toContain('out');
    expect(record.logs).toContain('err');
    expect(record.files_list.map(({ path, size }) => [path, size]).sort()).toEqual([
      ['big', 1_000_000],
      ['made.txt', 12],
    ]);
    expect(await (await box.request(`/v1/executions/${record.execution_id}/files/made.txt`)).text()).toBe('given given ');
    expect(await sh('exit 9')).toMatchObject({ status: 'failed', exit_code: 9, error: { code: 'exit_nonzero' } });
    expect(await sh('kill -TERM $$')).toMatchObject({ error: { code: 'killed_by_signal' } });
    await nothingLeft();
  });

  it('is to the engine exactly this', async () => {
    await nothingLeft();
    const running = sh('sleep 3');
    const name = await runningContainer();
    const { Config, HostConfig, NetworkSettings } = await engine.docker.getContainer(name).inspect();
    const record = await running;
    const id = record.execution_id;
    expect(name).toBe(`skillbox.${box.box.host}.run.${id}`);
    const [privileges, seccomp, ...more] = HostConfig.SecurityOpt ?? [];
    expect(privileges).toBe('no-new-privileges');
    expect(JSON.parse(seccomp?.replace(/^seccomp=/, '') ?? '')).toEqual(seccompProfile(process.arch as Architecture));
    expect(more).toEqual([]);
    const disk = 48 * mebi;
    expect(whatIsSet({ ...HostConfig, SecurityOpt: undefined })).toEqual({
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      NetworkMode: 'none',
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Runtime: 'runc',
      Memory: 96 * mebi,
      MemorySwap: 96 * mebi,
      NanoCpus: 1e9,
      PidsLimit: 129,
      ShmSize: 64 * mebi,
      Ulimits: [
        { Name: 'nofile', Soft: 1024, Hard: 1024 },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      Tmpfs: {
        '/tmp': `rw,noexec,nosuid,nodev,size=${disk / 4},mode=1777`,
        '/root': `rw,noexec,nosuid,nodev,size=${16 * mebi},mode=0700,uid=65534,gid=65534`,
        '/sandbox': `rw,noexec,nosuid,nodev,size=${(disk / 4) * 3},mode=0755,uid=65534,gid=65534`,
      },
      Mounts: [
        { Type: 'bind', Source: nativeProgram('guest'), Target: '/.skillbox/guest', ReadOnly: true },
        { Type: 'bind', Source: join(box.stateRoot, 'run', 'images', id), Target: '/.skillbox/run' },
        {
          Type: 'bind',
          Source: expect.stringContaining(join(box.stateRoot, 'sandboxes', 'skills')),
          Target: '/sandbox/scripts',
          ReadOnly: true,
        },
      ],
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
      MaskedPaths: expect.arrayContaining(['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware']),
      ReadonlyPaths: expect.arrayContaining(['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']),
    });
    expect(whatIsSet(Config)).toEqual({
      Hostname: 'sandbox',
      User: '65534:65534',
      Image: `docker.io/library/${engine.image}`,
      WorkingDir: '/',
      Entrypoint: ['/.skillbox/guest', '--once', '/.skillbox/run/guest'],
      Healthcheck: { Test: ['NONE'] },
      Labels: { 'managed-by': 'skillbox', 'skillbox.kind': 'run', 'skillbox.owner': box.box.host, 'skillbox.execution': id },
    });
    expect(Object.keys(NetworkSettings.Networks)).toEqual(['none']);
    await nothingLeft();
  });

  it('cannot write its scripts or its root, run what it wrote, reach a network or the way to its guest', async () => {
    const probes = {
      scripts: 'echo x >> /sandbox/scripts/main.sh',
      'new script': 'touch /sandbox/scripts/new',
      root: 'touch /x',
      etc: 'echo x >> /etc/hosts',
      'exec in /sandbox': 'cp /usr/bin/true /sandbox/t && /sandbox/t',
      'exec in /tmp': 'cp /usr/bin/true /tmp/t && /tmp/t',
      socket: 'ls /.skillbox/run',
      'another guest': 'rm -f /.skillbox/run/guest',
      network: 'echo > /dev/tcp/1.1.1.1/53',
      'the engine': `ls ${engine.socket}`,
      'the memory of the guest': 'head -c1 /proc/1/mem',
      "the guest's descriptors": 'ls -l /proc/1/fd/',
    };
    const lines = Object.entries(probes).map(([name, probe]) => `(${probe}) >/dev/null 2>&1 && echo "open: ${name}"`);
    const { logs, status } = await sh(`${lines.join('\n')}\ngrep -E "^(NoNewPrivs|Seccomp|CapEff|CapBnd|Uid)" /proc/self/status; true`);
    expect(status).toBe('success');
    expect(logs).not.toContain('open:');
    for (const line of ['NoNewPrivs:\t1', 'Seccomp:\t2', 'CapEff:\t0000000000000000', 'CapBnd:\t0000000000000000', 'Uid:\t65534'])
      expect(logs).toContain(line);
  });

  it('is ended by its time, its memory and whoever cancels it, with everything it started', { timeout: 60_000 }, async () => {
    const late = await sh('echo begun; (sleep 300 &); sleep 300', { timeout: '1s' });
    expect(late).toMatchObject({ status: 'timeout', error: { code: 'timeout' }, logs: 'begun\n' });
    await nothingLeft();
    const eaten = await box.run('probe-python', { input: { code: 'x = bytearray(400 << 20)' } });
    expect(eaten).toMatchObject({ status: 'failed', error: { code: 'memory_exceeded' } });
    await nothingLeft();
    const { body } = await box.json<Execution>('/v1/executions', {
      body: { skill: 'probe-bash', env: { PROBE: 'sleep 300' }, wait: false },
    });
    await runningContainer();
    const cancelled = await box.json<Execution>(`/v1/executions/${body.execution_id}/cancel`, { method: 'POST' });
    expect(cancelled.body).toMatchObject({ status: 'cancelled' });
    await nothingLeft();
  });

  it('leaves only what it may: no links followed, no more files, bytes and lines than allowed', { timeout: 60_000 }, async () => {
    const out = '"$SANDBOX_FILES_DIR"';
    const links = await sh(
      `cd ${out}; ln -s /etc/passwd link; ln -s / root; mkfifo pipe; echo fine > fine; ln -s /etc/passwd "$SANDBOX_OUTPUT"; true`,
    );
    expect(links).toMatchObject({ status: 'failed', error: { code: 'output_invalid' } });
    const skipped = await sh(`cd ${out}; ln -s /etc/passwd link; mkfifo pipe; echo fine > fine`);
    expect(skipped.files_list.map(({ path }) => path)).toEqual(['fine']);
    expect(skipped.logs).toContain('artifact link skipped: symbolic link');
    expect(await sh(`cd ${out}; for n in 1 2 3 4 5 6; do echo $n > $n; done`)).toMatchObject({ error: { code: 'too_many_artifacts' } });
    expect(await sh(`head -c 3000000 /dev/zero > ${out}/big`)).toMatchObject({ error: { code: 'artifact_too_large' } });
    expect(await sh(`head -c 60000000 /dev/zero > ${out}/huge`)).toMatchObject({ status: 'failed', error: { code: 'exit_nonzero' } });
    const noisy = await sh('head -c 1000000 /dev/zero | tr "\\0" x');
    expect(noisy.logs.length).toBeLessThan(66_000);
    expect(noisy.logs.slice(-100)).toContain('log cut at 64Ki');
    await nothingLeft();
  });

  it('is refused where the image is not allowed, not there, or no engine is configured; never run without it', async () => {
    const refused = async (on: TestBox, image: string): Promise<unknown> => {
      await on.push(imaged('bash', `image: ${image}\n`, '2.0.0'));
      const { status, body } = await on.json('/v1/executions', { body: { skill: 'probe-bash', env: { PROBE: 'true' } } });
      return {
        status,
        ...(status === 200 ? { error: (body as unknown as Execution).error?.code } : { error: body.error }),
        hint: body.hint,
      };
    };
    expect(await refused(box, 'ghcr.io/acme/tool:1')).toMatchObject({
      status: 422,
      error: 'image_unsupported',
      hint: expect.stringContaining('Use '),
    });
    await box.push(imaged('bash', 'image: absent:1\n', '3.0.0'));
    expect(await sh('true', { version: '3.0.0' })).toMatchObject({ status: 'failed', error: { code: 'image_unsupported' } });
    const without = await startTestBox();
    try {
      expect(await refused(without, engine.image)).toMatchObject({
        ...{ status: 422, error: 'image_unsupported' },
        hint: expect.stringContaining('SKILLBOX_DOCKER_HOST'),
      });
    } finally {
      await without.stop();
    }
  });

  it('ends with a server that is killed, and the next one removes what is left', { timeout: 90_000 }, async () => {
    const stateRoot = newStateRoot();
    let server: ServerProcess = await startServerProcess({ stateRoot, env });
    try {
      await server.push(imaged('bash', `image: ${engine.image}\n`));
      const record = await server.run('probe-bash', { env: { PROBE: 'sleep 300' }, wait: false });
      const name = await runningContainer();
      await expect
        .poll(async () => (await engine.docker.getContainer(name).top()).Processes.length, { timeout: 10_000 })
        .toBeGreaterThan(1);
      // A folder that a crash in the midst of a start would leave.
      mkdirSync(join(stateRoot, 'run', 'images', 'half-made'), { recursive: true });
      await server.kill();
      await expect.poll(async () => (await engine.docker.getContainer(name).inspect()).State.Running, { timeout: 10_000 }).toBe(false);
      server = await startServerProcess({ stateRoot, env });
      await nothingLeft();
      expect(readdirSync(join(stateRoot, 'run', 'images'))).toEqual([]);
      expect(await server.ended(record.execution_id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
      expect(await server.run('probe-bash', { env: { PROBE: 'echo again' } })).toMatchObject({ status: 'success', logs: 'again\n' });
      await delay(200);
      expect(await server.stop()).toBe(0);
      expect(await containers()).toEqual([]);
    } finally {
      if (server.running) await server.stop();
      rmSync(stateRoot, { recursive: true, force: true });
    }
  });
});

function imaged(lang: 'bash' | 'python', extra: string, version = '1.0.0'): Record<string, string> {
  const files = probeSkill(lang, extra);
  return { ...files, 'SKILL.md': files['SKILL.md']?.replace('version: 1.0.0', `version: ${version}`) ?? '' };
}
