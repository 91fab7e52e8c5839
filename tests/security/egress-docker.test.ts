/** The same proxy for a sandbox by docker: the container has no network, and the channel is all that leads out of it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerIsInstalled, startDocker, type TestDocker } from '../support/docker.ts';
import { type EgressBox, startEgressBox, startTarget, type Target } from '../support/egress.ts';

describe.skipIf(!dockerIsInstalled())('a sandbox by docker with network allow', () => {
  let engine: TestDocker;
  let egress: EgressBox;
  let target: Target;

  beforeAll(async () => {
    engine = await startDocker();
    target = await startTarget();
    egress = await startEgressBox('ok.test', { SKILLBOX_DOCKER_HOST: `unix://${engine.socket}`, SKILLBOX_IMAGE_ALLOWLIST: engine.image });
    egress.dns.set('ok.test', ['127.0.0.1']);
  });
  afterAll(async () => {
    await egress?.stop();
    await target?.stop();
    await engine?.stop();
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
});
