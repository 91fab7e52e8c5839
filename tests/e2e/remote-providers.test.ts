/** Sandboxes elsewhere, through the API of a box that was configured for them: a machine over SSH, and a second box. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { sshdIsInstalled, startSshd, type TestSshd } from '../support/sshd.ts';

const sandboxScopes = ['sandboxes:read', 'sandboxes:use'] as const;

async function exec(box: TestBox, id: string, cmd: string): Promise<unknown> {
  return (await box.json(`/v1/sandboxes/${id}/programs`, { body: { cmd } })).body;
}

describe('a box that was not configured', () => {
  it('says why a template cannot be had', async () => {
    const box = await startTestBox();
    const { status, body } = await box.json('/v1/sandboxes', { body: { template: 'vm-attach' } });
    expect({ status, body }).toMatchObject({
      status: 503,
      body: { error: 'no_provider', message: expect.stringContaining('ssh: this host has no such provider') },
    });
    await box.stop();
  });
});

describe.skipIf(!sshdIsInstalled())('a machine over SSH', () => {
  let machine: TestSshd;
  let box: TestBox;
  beforeAll(async () => {
    machine = await startSshd();
    const { address, fingerprint, keyFile, port, user } = machine.host;
    const hosts = join(keyFile, '..', 'hosts.yaml');
    writeFileSync(hosts, JSON.stringify({ machine: { address, port, user, key_file: keyFile, fingerprint } }));
    box = await startTestBox({ SKILLBOX_SSH_HOSTS: hosts });
  });
  afterAll(async () => {
    await box.stop();
    await machine.stop();
  });

  it('is used as any sandbox, by administrators alone', async () => {
    const { status, body } = await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'vm-attach' } });
    expect({ status, body }).toMatchObject({ status: 201, body: { state: 'ready', provider: 'ssh' } });
    expect(await exec(box, body.id, 'whoami; echo kept > file; cat ~/file')).toMatchObject({ exit_code: 0, stdout: 'builder\nkept\n' });
    const key = await box.newKey('default', [...sandboxScopes]);
    expect((await box.json('/v1/sandboxes', { key, body: { template: 'vm-attach' } })).status).toBe(403);
    const server = 'exec python3 -m http.server 18999 --bind 127.0.0.1';
    expect((await box.json(`/v1/sandboxes/${body.id}/programs`, { body: { cmd: server, wait: false } })).status).toBe(202);
    const page = async (): Promise<string> => (await box.request(`/preview/${body.id}/18999/file`)).text();
    await expect.poll(page, { timeout: 10_000 }).toBe('kept\n');
    const gone = await box.json<Sandbox>(`/v1/sandboxes/${body.id}`, { method: 'DELETE' });
    expect(gone.body.state).toBe('destroyed');
  });
});

describe('a second box', () => {
  let far: TestBox;
  let near: TestBox;
  beforeAll(async () => {
    far = await startTestBox();
    const address = `${far.url}/e2b`;
    near = await startTestBox({ SKILLBOX_E2B_API_KEY: far.key, SKILLBOX_E2B_API_URL: address, SKILLBOX_E2B_SANDBOX_URL: address });
  });
  afterAll(async () => {
    await near.stop();
    await far.stop();
  });

  it('makes what the first one asks for', async () => {
    const template = { providers: ['e2b'], options: { template: 'python' }, idle: { action: 'keep' } };
    expect((await near.json('/v1/templates/elsewhere', { method: 'PUT', body: template })).status).toBeLessThan(300);
    const { status, body } = await near.json<Sandbox>('/v1/sandboxes', { body: { template: 'elsewhere' } });
    expect({ status, body }).toMatchObject({ status: 201, body: { state: 'ready', provider: 'e2b' } });
    expect(await exec(near, body.id, 'echo $((6 * 7)); exit 3')).toMatchObject({ exit_code: 3, stdout: '42\n' });
    const { items } = (await far.json<{ items: Sandbox[] }>('/v1/sandboxes')).body;
    expect(items).toMatchObject([{ template: 'python@1', labels: { 'skillbox-sandbox': body.id } }]);
    await near.json(`/v1/sandboxes/${body.id}`, { method: 'DELETE' });
    expect((await far.json<Sandbox>(`/v1/sandboxes/${items[0]?.id}`)).body.state).toBe('destroyed');
  });
});
