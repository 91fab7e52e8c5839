/** The same proxy for a sandbox by docker: the container has no network, and the channel is all that leads out of it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerIsInstalled, startDocker, type TestDocker } from '../support/docker.ts';
import { type EgressBox, startEgressBox, startTarget, type Target } from '../support/egress.ts';

describe.skipIf(!dockerIsInstalled())('a sandbox by docker with network allow', () => {
  let engine: TestDocker;
  let egress: EgressBox;
  let target: Target;
  let folder: string;

  beforeAll(async () => {
    engine = await startDocker();
    target = await startTarget();
    folder = mkdtempSync(join(tmpdir(), 'sbe-'));
    const network = `{ mode: allow, allow: ['ok.test:${target.port}'] }`;
    const workspace = `{ provider: docker, image: '${engine.image}', network: ${network} }`;
    writeFileSync(join(folder, 'skillbox.yaml'), `version: 1\nworkspace: ${workspace}\n`);
    egress = await startEgressBox('ok.test', {
      SKILLBOX_DOCKER_HOST: `unix://${engine.socket}`,
      SKILLBOX_IMAGE_ALLOWLIST: engine.image,
      SKILLBOX_MANIFEST: join(folder, 'skillbox.yaml'),
    });
    egress.dns.set('ok.test', ['127.0.0.1']);
  });
  afterAll(async () => {
    await egress?.stop();
    await target?.stop();
    await engine?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it('reaches what its list names and nothing else, also after a pause', async () => {
    const one = await egress.sandbox([`ok.test:${target.port}`], { providers: ['docker'], image: engine.image });
    expect(one).toMatchObject({ provider: 'docker', network: 'allow' });
    const look = () =>
      egress.python(
        one.id,
        `
answer([[name for _, name in socket.if_nameindex()], status(get("http://ok.test:${target.port}/", "ok.test:${target.port}")), status(get("http://else.test/", "else.test")),
        attempt(socket.socket().connect, ("127.0.0.1", ${target.port})), attempt(os.unlink, "/.skillbox/box/box.sock"), os.environ["HTTPS_PROXY"]])`,
      );
    const expected = [['lo'], 200, 403, 'ECONNREFUSED', 'EROFS', 'http://127.0.0.1:3128'];
    expect(await look()).toEqual(expected);
    await egress.box.json(`/v1/sandboxes/${one.id}/pause`, { body: {} });
    expect(await look()).toEqual(expected);
    const [container] = await engine.docker.listContainers({ all: true });
    const { HostConfig } = await engine.docker.getContainer(container?.Id ?? '').inspect();
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      ExtraHosts: ['box.internal:127.0.0.1'],
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
    });
    expect(HostConfig.Mounts?.filter(({ Target }) => Target === '/.skillbox/box')).toEqual([
      expect.objectContaining({ Type: 'bind', ReadOnly: true, Source: expect.stringMatching(new RegExp(`run/channels/${one.id}$`)) }),
    ]);
  });

  it('reaches from the workspace what the manifest names and nothing else', async () => {
    const { body: workspace } = await egress.box.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace' } });
    expect(workspace).toMatchObject({ provider: 'docker', network: 'allow' });
    expect(
      await egress.python(
        workspace.id,
        `
answer([[name for _, name in socket.if_nameindex()], status(get("http://ok.test:${target.port}/", "ok.test:${target.port}")), status(get("http://else.test/", "else.test")),
        attempt(socket.socket().connect, ("127.0.0.1", ${target.port})), os.getcwd()])`,
      ),
    ).toEqual([['lo'], 200, 403, 'ECONNREFUSED', '/workspace']);
    await egress.box.request(`/v1/sandboxes/${workspace.id}`, { method: 'DELETE' });
  });
});
