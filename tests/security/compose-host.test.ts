/** A compose project that reaches for its placement host: by what it asks for, by what it says of compose, by its containers. */

import { chmodSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LivingProvider, SandboxHandle, SandboxSpec } from '../../packages/box/src/sandbox/living.ts';
import { nativeProgram } from '../../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import { createComposeSsh } from '../../packages/box/src/sandbox/providers/compose-ssh/provider.ts';
import { type ComposeHost, composeIsInstalled, startComposeHost } from '../support/compose-host.ts';

const limits = { memoryBytes: 2 ** 28, cpu: 1, processes: 64, openFiles: 1024, diskBytes: 2 ** 28, tmpBytes: 2 ** 20 };
const rest = { image: 'skillbox-test:latest', command: 'sleep infinity', init: true, stop_grace_period: '1s' };

describe.skipIf(!composeIsInstalled())('a compose project', { timeout: 120_000 }, () => {
  let host: ComposeHost;
  let provider: LivingProvider;
  let serial = 0;
  const made: SandboxHandle[] = [];
  const servers: Server[] = [];

  beforeAll(async () => {
    host = await startComposeHost();
    chmodSync(host.root, 0o755);
    const place = { hosts: [host.ssh.host], roots: [host.root], owner: `security-${process.pid}` };
    provider = createComposeSsh({ ...place, guestProgram: nativeProgram('guest') });
  }, 120_000);
  afterEach(async () => {
    for (const handle of made.splice(0)) await handle.teardown();
    for (const server of servers.splice(0)) server.close();
  }, 120_000);
  afterAll(async () => {
    await provider.close();
    await host.stop();
  }, 120_000);

  const bringUp = async (files: Record<string, string>): Promise<SandboxHandle> => {
    serial += 1;
    const repo = host.project(`p${serial}`, files);
    const spec: SandboxSpec = { id: `s${serial}`, tenant: 'default', limits, network: 'full', env: {}, options: { repo } };
    const handle = provider.open(await provider.provision(spec), spec);
    made.push(handle);
    return handle;
  };
  const compose = (service: Record<string, unknown>, more: Record<string, unknown> = {}): Record<string, string> => ({
    'compose.yaml': JSON.stringify({ services: { main: { ...rest, ...service } }, ...more }),
  });
  const containers = async (): Promise<number> => (await host.engine.docker.listContainers({ all: true })).length;

  it.each([
    ['every right', { privileged: true }],
    ['the network of the host', { network_mode: 'host' }],
    ['processes of the host', { pid: 'host' }],
    ['files of the host', { volumes: ['/:/host:ro'] }],
    ['the socket of the engine', { volumes: ['/var/run/docker.sock:/engine.sock:ro'] }],
    ['a file of variables of the host', { env_file: '/etc/environment' }],
  ])('that asks for %s is not started', async (_what, service) => {
    await expect(bringUp(compose(service))).rejects.toMatchObject({ code: 'forbidden' });
    expect(await containers()).toBe(0);
  });

  it('with a link to the host in it is not copied there', async () => {
    symlinkSync('/etc', join(host.project(`p${serial + 1}`, { 'any.txt': '' }), 'conf'));
    await expect(bringUp(compose({ volumes: ['./conf:/conf:ro'] }))).rejects.toMatchObject({ code: 'forbidden' });
    expect(await containers()).toBe(0);
  });

  it('does not choose the engine, the files or the name that compose works with', async () => {
    let asked = 0;
    const decoy = createServer((socket) => {
      asked += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    servers.push(decoy);
    await new Promise((resolve) => decoy.once('listening', resolve));
    const { port } = decoy.address() as { port: number };
    const words = ['COMPOSE_FILE=/etc/passwd', 'COMPOSE_PROJECT_NAME=theirs', `DOCKER_HOST=tcp://127.0.0.1:${port}`, 'GREETING=hello'];
    await bringUp({ ...compose({ environment: { GREETING: '$GREETING' } }), '.env': words.join('\n') });
    const [container] = await host.engine.docker.listContainers();
    const { Config } = await host.engine.docker.getContainer(container?.Id ?? '').inspect();
    expect(Config.Labels['com.docker.compose.project']).toMatch(/^sb[0-9a-f]{10}-s\d+$/);
    expect(Config.Env).toContain('GREETING=hello');
    expect(asked).toBe(0);
  });

  it('is spoken to through its guest, and through nothing that a container puts in its place', async () => {
    let asked = 0;
    const path = join(host.root, 'decoy');
    const decoy = createServer((socket) => {
      asked += 1;
      socket.destroy();
    }).listen(path);
    servers.push(decoy);
    await new Promise((resolve) => decoy.once('listening', resolve));
    chmodSync(path, 0o777);
    const swap = `while :; do ln -sfn ${path} /.skillbox/run/guest; done`;
    // Whether the guest or the link comes first is chance; a link is refused, and then there is no sandbox.
    for (let round = 0; round < 2; round += 1) {
      const handle = await bringUp(compose({ command: ['bash', '-c', swap] })).catch((error: Error) => {
        expect(error.message).toContain('not the guest');
      });
      await handle?.files.stat('/');
    }
    expect(asked).toBe(0);
  });
});
