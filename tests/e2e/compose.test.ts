/** Compose projects on a placement host, through the API of a box: a real sshd, a real engine and a real docker-compose. */

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Sandbox } from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type ComposeHost, composeIsInstalled, startComposeHost } from '../support/compose-host.ts';
import { freePort } from '../support/graph.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';
import { uid } from '../support/sshd.ts';

const image = 'skillbox-test:latest';
const probe = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/page.txt')";
const rest = { image, command: 'sleep infinity', init: true, stop_grace_period: '1s' };

/** A web server, and a client that was built here and reaches it by its name. */
const shop = {
  'docker-compose.yml': JSON.stringify({
    services: {
      client: {
        ...rest,
        image: undefined,
        build: '.',
        environment: { SHOP: 'http://web:8000' },
        depends_on: { web: { condition: 'service_healthy' } },
      },
      web: {
        ...rest,
        command: 'python3 -m http.server 8000 --directory /site',
        container_name: 'the-one-and-only',
        ports: ['80:8000'],
        volumes: ['./site:/site:ro', 'data:/data'],
        healthcheck: { test: ['CMD', 'python3', '-c', probe], interval: '1s', retries: 30 },
        mem_limit: '64m',
      },
    },
    volumes: { data: { name: 'not-only-mine' } },
  }),
  Dockerfile: `FROM ${image}\nCOPY greeting /greeting\n`,
  greeting: 'hello from the build\n',
  'site/page.txt': 'from the web\n',
};

describe.skipIf(!composeIsInstalled())('a compose project', { timeout: 150_000 }, () => {
  let host: ComposeHost;
  let box: TestBox;
  let env: Record<string, string>;

  beforeAll(async () => {
    host = await startComposeHost();
    const { address, fingerprint, keyFile, port, user, dockerSocket } = host.ssh.host;
    const machine = { address, port, user, key_file: keyFile, fingerprint, docker_socket: dockerSocket };
    const file = join(dirname(keyFile), 'hosts.yaml');
    writeFileSync(file, JSON.stringify({ machine, away: { ...machine, port: 1 } }));
    env = { SKILLBOX_SSH_HOSTS: file, SKILLBOX_COMPOSE_ROOTS: host.root };
    box = await startTestBox(env);
  }, 120_000);
  afterEach(async () => {
    for (const { id } of (await box.json<Page<Sandbox>>('/v1/sandboxes?limit=100')).body.items)
      await box.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
    expect(await leftovers()).toEqual([]);
  }, 120_000);
  afterAll(async () => {
    await box.stop();
    await host.stop();
  }, 120_000);

  const create = (repo: string, template = 'compose-e2e', more: Record<string, unknown> = {}) =>
    box.json<Sandbox & { message: string }>('/v1/sandboxes', { body: { template, inputs: { repo, ...more } } });
  const exec = async (id: string, cmd: string) =>
    (await box.json(`/v1/sandboxes/${id}/programs`, { body: { argv: ['/bin/bash', '-c', cmd] } })).body;
  const homeFolder = (): string => join(dirname(host.ssh.host.keyFile), 'builder');

  /** Everything that a project leaves on the host when it is not ended. */
  const leftovers = async (): Promise<string[]> => {
    const { docker } = host.engine;
    const containers = (await docker.listContainers({ all: true })).map(({ Names }) => `container ${Names[0]}`);
    const volumes = ((await docker.listVolumes()).Volumes ?? []).map(({ Name }) => `volume ${Name}`);
    const networks = (await docker.listNetworks()).filter(({ Driver }) => Driver === 'bridge').map(({ Name }) => `network ${Name}`);
    const images = (await docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []).filter((tag) => tag !== image);
    const root = join(homeFolder(), '.skillbox-compose');
    const folders = (existsSync(root) ? readdirSync(root) : []).flatMap((owner) => readdirSync(join(root, owner)));
    return [...containers, ...volumes, ...networks, ...images, ...folders];
  };
  const template = async (name: string, more: Record<string, unknown>) => {
    const { body } = await box.json<{ inputs: unknown }>('/v1/templates/compose-e2e');
    const given = { providers: ['compose-ssh'], network: { mode: 'full' }, idle: { action: 'keep' }, inputs: body.inputs, ...more };
    expect((await box.json(`/v1/templates/${name}`, { method: 'PUT', body: given })).status).toBeLessThan(300);
    return name;
  };

  it('is brought up, used in every way, paused and ended, by administrators alone', async () => {
    const repo = host.project('shop', shop);
    const { status, body } = await create(repo);
    expect({ status, body }).toMatchObject({ status: 201, body: { state: 'ready', provider: 'compose-ssh', tier: 'trusted' } });
    expect(body.endpoints).toEqual([
      { service: 'web', port: 80, preview: `/preview/${body.id}/80/`, tunnel: expect.stringMatching(/^ssh -N -p \d+ -L 127/) },
    ]);
    const fetchInside = 'import os, urllib.request; print(urllib.request.urlopen(os.environ["SHOP"] + "/page.txt").read().decode())';
    expect(await exec(body.id, `cat /greeting; python3 -c '${fetchInside}'; echo kept > ~/file`)).toMatchObject({
      exit_code: 0,
      stdout: 'hello from the build\nfrom the web\n\n',
    });
    expect(await (await box.request(`/preview/${body.id}/80/page.txt`)).text()).toBe('from the web\n');

    const key = await box.newKey('default', ['sandboxes:read', 'sandboxes:use']);
    expect((await box.json('/v1/sandboxes', { key, body: { template: 'compose-e2e', inputs: { repo } } })).status).toBe(403);

    // The same project again: nothing in it has a name that only one can have.
    const second = await create(repo);
    expect(second.status).toBe(201);
    expect((await box.json<Sandbox>(`/v1/sandboxes/${second.body.id}`, { method: 'DELETE' })).body.state).toBe('destroyed');

    expect((await box.json<Sandbox>(`/v1/sandboxes/${body.id}/pause`, { method: 'POST' })).body.state).toBe('paused');
    expect((await host.engine.docker.listContainers()).length).toBe(0);
    expect(await (await box.request(`/preview/${body.id}/80/page.txt`)).text()).toBe('from the web\n');
    expect(await exec(body.id, 'cat ~/file')).toMatchObject({ stdout: 'kept\n' });
  });

  it('is published to the host itself alone, and has the limits of the template', async () => {
    const { body } = await create(host.project('shop', shop));
    const containers = await host.engine.docker.listContainers();
    const inspected = await Promise.all(containers.map(({ Id }) => host.engine.docker.getContainer(Id).inspect()));
    const of = (service: string) => inspected.find(({ Config }) => Config.Labels['com.docker.compose.service'] === service)?.HostConfig;
    expect(Object.values(of('web')?.PortBindings ?? {})).toEqual([[{ HostIp: '127.0.0.1', HostPort: expect.stringMatching(/^\d+$/) }]]);
    expect(of('web')).toMatchObject({ Memory: 64 * 2 ** 20, PidsLimit: 513, Privileged: false });
    expect(of('client')).toMatchObject({ Memory: 2 ** 30, PidsLimit: 513 });
    const { keyFile } = host.ssh.host;
    const known = ['-i', keyFile, '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'];
    // The port it names may have somebody on this machine.
    const port = await freePort();
    const line = body.endpoints[0]?.tunnel ?? '';
    expect(line).toContain('127.0.0.1:8080:');
    const [program = '', ...words] = line.replace('127.0.0.1:8080:', `127.0.0.1:${port}:`).split(' ');
    const tunnel = spawn(program, [...known, ...words], { stdio: 'ignore' });
    try {
      const page = (): Promise<string> =>
        fetch(`http://127.0.0.1:${port}/page.txt`).then(
          (answer) => answer.text(),
          () => '',
        );
      await expect.poll(page, { timeout: 15_000 }).toBe('from the web\n');
    } finally {
      tunnel.kill();
    }
  });

  it('that does not start says why, with its last words, and leaves nothing', async () => {
    const failing = { ...rest, command: ['bash', '-c', 'echo the disk is upside down; exit 3'] };
    const repo = host.project('failing', { 'compose.yaml': JSON.stringify({ services: { main: rest, failing } }) });
    const { status, body } = await create(repo);
    expect({ status, body }).toMatchObject({ status: 503, body: { error: 'no_provider' } });
    expect(body.message).toContain('failing ended with exit 3; it said: the disk is upside down');
  });

  it('that asks for the host is refused, unless the template allows it', async () => {
    const wanting = { ...rest, cap_add: ['NET_ADMIN'], privileged: true, volumes: ['/etc:/host'] };
    const repo = host.project('wanting', { 'compose.yaml': JSON.stringify({ services: { main: wanting } }) });
    const { status, body } = await create(repo);
    expect(status).toBe(503);
    for (const what of ['services.main.privileged', 'services.main.cap_add', 'services.main.volumes[0]'])
      expect(body.message).toContain(what);
    const less = host.project('less', { 'compose.yaml': JSON.stringify({ services: { main: { ...rest, cap_add: ['NET_ADMIN'] } } }) });
    const made = await create(less, await template('with-rights', { options: { allow: ['capabilities'] } }));
    expect({ status: made.status, body: made.body }).toMatchObject({ status: 201 });
    const [container] = await host.engine.docker.listContainers();
    const { HostConfig } = await host.engine.docker.getContainer(container?.Id ?? '').inspect();
    expect(HostConfig.CapAdd).toEqual(['NET_ADMIN']);
  });

  it('that may write its own files leaves none of them, whoever they belong to', async () => {
    const main = { ...rest, volumes: ['./data:/data'] };
    const repo = host.project('writing', { 'compose.yaml': JSON.stringify({ services: { main } }), 'data/first': '' });
    expect((await create(repo)).body.message).toContain('allowed by writable_mounts');
    const { status, body } = await create(repo, await template('writing', { options: { allow: ['writable_mounts'] } }));
    expect({ status, body }).toMatchObject({ status: 201 });
    const script = 'mkdir -m 700 /data/mine; echo x > /data/mine/file; chmod 700 /data; stat -c %u /data/mine';
    expect(await exec(body.id, script)).toMatchObject({ exit_code: 0, stdout: '0\n' });
    expect((await box.json<Sandbox>(`/v1/sandboxes/${body.id}`, { method: 'DELETE' })).body.state).toBe('destroyed');
    expect(await leftovers()).toEqual([]);
  });

  it.each([
    [
      'a variable file of the host',
      { 'compose.yaml': JSON.stringify({ services: { main: { ...rest, env_file: '/etc/environment' } } }) },
      'refers to',
    ],
    [
      'a file that it extends',
      { 'compose.yaml': JSON.stringify({ services: { main: { extends: { file: '../other.yml', service: 'x' } } } }) },
      'refers to',
    ],
    [
      'such a file one step further',
      {
        'compose.yaml': JSON.stringify({ services: { main: { extends: { file: 'a/b.yml', service: 'x' } } } }),
        'a/b.yml': JSON.stringify({ services: { x: { ...rest, env_file: '../../secret' } } }),
      },
      'a/b.yml refers to',
    ],
    ['no compose file', { 'other.txt': '' }, 'lacks'],
  ])('with %s is refused', async (_name, files, reason) => {
    rmSync(join(host.root, 'bad'), { recursive: true, force: true });
    const { status, body } = await create(host.project('bad', files));
    expect(status).toBe(503);
    expect(body.message).toContain(reason);
  });

  it('is copied from allowed folders only, and links do not lead out of it', async () => {
    expect((await create(homeFolder())).body.message).toContain('may be copied');
    symlinkSync(homeFolder(), join(host.root, 'elsewhere'));
    expect((await create(join(host.root, 'elsewhere'))).body.message).toContain('may be copied');
    const repo = host.project('linked', { 'compose.yaml': JSON.stringify({ services: { main: rest } }) });
    symlinkSync('/etc', join(repo, 'conf'));
    expect((await create(repo)).body.message).toContain('the link conf leads out');
  });

  it('is cloned by the host, at a commit, and never through other protocols', async () => {
    const home = homeFolder();
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', join(home, 'repo'), '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { encoding: 'utf8' }).trim();
    mkdirSync(join(home, 'repo'));
    git('init', '-q');
    const commit = (greeting: string): string => {
      writeFileSync(
        join(home, 'repo', 'compose.yaml'),
        JSON.stringify({ services: { main: { ...rest, environment: { GREETING: greeting } } } }),
      );
      git('add', '.');
      git('commit', '-qm', greeting);
      return git('rev-parse', 'HEAD');
    };
    const first = commit('first');
    commit('second');
    symlinkSync('/etc/passwd', join(home, 'repo', 'leak'));
    git('add', '.');
    git('commit', '-qm', 'a link');
    const { address, port, user, keyFile } = host.ssh.host;
    mkdirSync(join(home, '.ssh'), { mode: 0o700 });
    cpSync(keyFile, join(home, '.ssh', 'id_ed25519'));
    const known = execFileSync('ssh-keyscan', ['-p', String(port), address], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    writeFileSync(join(home, '.ssh', 'known_hosts'), known);
    chmodSync(join(home, '.ssh', 'id_ed25519'), 0o600);
    execFileSync('chown', ['-R', `${uid}:${uid}`, home]);
    const url = `ssh://${user}@${address}:${port}${join(home, 'repo')}`;
    const { status, body } = await create(url, 'compose-e2e', { ref: first });
    expect({ status, body }).toMatchObject({ status: 201, body: { state: 'ready' } });
    expect(await exec(body.id, 'echo $GREETING')).toMatchObject({ stdout: 'first\n' });
    expect((await create(url)).body.message).toContain('the link ./leak leads out');
    for (const bad of [`file://${home}/repo`, `ext::sh -c id`, '-oProxyCommand=id', 'relative/path', 'https://me:secret@example.com/x'])
      expect((await create(bad)).status).toBe(503);
  });

  it('goes to the first host that can, and says why the others cannot', async () => {
    const repo = host.project('small', { 'compose.yaml': JSON.stringify({ services: { main: rest } }) });
    const { status } = await create(repo, await template('either', { placement: ['nowhere', 'away', 'machine'] }));
    expect(status).toBe(201);
    const failed = await create(repo, await template('far', { placement: ['away'] }));
    expect(failed.status).toBe(503);
    expect(failed.body.message).toContain('away: The host away (127.0.0.1:1) is not reached over SSH');
  });

  it('of a server that was killed while it came up is ended by the next one', async () => {
    const repo = host.project('shop', shop);
    const stateRoot = newStateRoot();
    let server = await startServerProcess({ stateRoot, env });
    const asked = server.json('/v1/sandboxes', { body: { template: 'compose-e2e', inputs: { repo } } }).catch(() => undefined);
    // In the midst of it: compose has begun to make things, and goes on by itself.
    await expect
      .poll(async () => (await leftovers()).some((what) => /^(network|container|volume)/.test(what)), { timeout: 60_000, interval: 50 })
      .toBe(true);
    await server.kill();
    await asked;
    server = await startServerProcess({ stateRoot, env });
    const { items } = (await server.json<Page<Sandbox>>('/v1/sandboxes')).body;
    expect(items).toMatchObject([{ state: 'failed', reason: 'the server stopped while it was made' }]);
    await expect.poll(leftovers, { timeout: 60_000 }).toEqual([]);
    await delay(3000);
    expect(await leftovers()).toEqual([]);
    await server.stop();
    rmSync(stateRoot, { recursive: true, force: true });
  });
});
