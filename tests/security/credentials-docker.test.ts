/** Credentials in a sandbox by docker: the same proxy adds them, and the container trusts the box by the variables it is given. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certifiedFor, startUpstream, testAuthority, type Upstream } from '../support/credentials.ts';
import { dockerIsInstalled, startDocker, type TestDocker } from '../support/docker.ts';
import { type EgressBox, startEgressBox } from '../support/egress.ts';

describe.skipIf(!dockerIsInstalled())('a sandbox by docker with credentials', () => {
  const value = 'value-for-a-container';
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-docker-tls-'));
  let engine: TestDocker;
  let egress: EgressBox;
  let api: Upstream;

  beforeAll(async () => {
    const authority = testAuthority();
    writeFileSync(join(folder, 'ca.pem'), authority.certificate);
    engine = await startDocker();
    api = await startUpstream(certifiedFor('api.test', authority));
    egress = await startEgressBox('api.test', {
      SKILLBOX_DOCKER_HOST: `unix://${engine.socket}`,
      SKILLBOX_IMAGE_ALLOWLIST: engine.image,
      SKILLBOX_EGRESS_CA: join(folder, 'ca.pem'),
    });
    egress.dns.set('api.test', ['127.0.0.1']);
    await egress.box.json('/v1/secrets/TOKEN', { method: 'PUT', body: { value } });
  });
  afterAll(async () => {
    await egress?.stop();
    await api?.stop();
    await engine?.stop();
    rmSync(folder, { recursive: true });
  });

  it('reaches the host with the credential in TLS, without having it in its environment', async () => {
    const credentials = [{ host: 'api.test', port: api.port, header: 'Authorization', value: 'Bearer ${secret}', secret: 'TOKEN' }];
    const network = { mode: 'allow', allow: [`api.test:${api.port}`], tls: true, credentials };
    const one = await egress.sandbox([], { providers: ['docker'], image: engine.image, network });
    expect(one.provider).toBe('docker');
    const said = await egress.python(
      one.id,
      `
import urllib.request
body = urllib.request.urlopen("https://api.test:${api.port}/", timeout=10).read().decode()
answer([body, any("${value.slice(0, 5)}" + "${value.slice(5)}" in text for text in os.environ.values())])`,
    );
    expect(said).toEqual(['hello', false]);
    expect(api.last('authorization')).toEqual([`Bearer ${value}`]);
  });
});
