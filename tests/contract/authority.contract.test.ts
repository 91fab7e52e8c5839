/** The certificate authority of the box: one for all hosts, sealed at rest, and leaves that real clients accept for their one name. */

import { execFile } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createAuthority } from '../../packages/box/src/sandbox/egress/authority.ts';
import { makeAuthority, makeLeaf } from '../../packages/box/src/sandbox/egress/certificate.ts';
import { openSecrets } from '../../packages/box/src/secrets.ts';
import { describeDatabases } from './databases.ts';

const run = promisify(execFile);
const secrets = openSecrets('unused', 'k'.repeat(40));
const hourMs = 3600_000;

describeDatabases('the authority', (fixture) => {
  it('is made once, whoever needs it first, and is the same after a restart', async () => {
    const hosts = await Promise.all(Array.from({ length: 4 }, async () => createAuthority(await fixture.server(), secrets)));
    const seen = await Promise.all(hosts.map((host) => host.certificate()));
    expect(new Set(seen).size).toBe(1);
    expect(await createAuthority(await fixture.server(), secrets).certificate()).toBe(seen[0]);
  });

  it('keeps its key sealed: the database has it in no readable form, and another box cannot open it', async () => {
    const database = await fixture.server();
    const authority = createAuthority(database, secrets);
    await authority.certificate();
    const dump = JSON.stringify(await database.kysely.selectFrom('box_facts').selectAll().execute());
    expect(dump).toContain('egress_authority');
    for (const mark of ['PRIVATE', 'BEGIN', Buffer.from('-----BEGIN').toString('base64').slice(0, 10)]) expect(dump).not.toContain(mark);
    const stranger = createAuthority(database, openSecrets('unused', 'o'.repeat(40)));
    await expect(stranger.leaf('api.example')).rejects.toMatchObject({ code: 'internal' });
  });

  it('gives each name a short-lived leaf of its own, and the same one while that is fresh', async () => {
    const authority = createAuthority(await fixture.server(), secrets);
    const [one, again, other] = await Promise.all([authority.leaf('a.example'), authority.leaf('a.example'), authority.leaf('b.example')]);
    expect(again).toBe(one);
    expect(other.key).not.toBe(one.key);
    const issuer = new X509Certificate(await authority.certificate());
    const leaf = new X509Certificate(one.certificate);
    expect(leaf.verify(issuer.publicKey)).toBe(true);
    expect([leaf.checkHost('a.example'), leaf.checkHost('b.example'), leaf.checkHost('x.a.example')]).toEqual([
      'a.example',
      undefined,
      undefined,
    ]);
    expect(Date.parse(leaf.validTo) - Date.now()).toBeLessThanOrEqual(24 * hourMs);
    expect([issuer.ca, leaf.ca]).toEqual([true, false]);
    expect(createPrivateKey(one.key).asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
  });
});

const period = { from: new Date(Date.now() - hourMs), to: new Date(Date.now() + hourMs) };

it('OpenSSL finds nothing wrong with a leaf, by its strict rules, and refuses another authority', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-certificates-'));
  try {
    const [authority, stranger] = [makeAuthority('One', period), makeAuthority('Other', period)];
    writeFileSync(join(folder, 'ca.pem'), authority.certificate);
    writeFileSync(join(folder, 'other.pem'), stranger.certificate);
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.example`;
    for (const host of ['api.example', '127.0.0.1', '2001:db8::1', long]) {
      writeFileSync(join(folder, 'leaf.pem'), makeLeaf(host, authority, period).certificate);
      const wanted = /[:]|^[\d.]+$/.test(host) ? ['-verify_ip', host] : ['-verify_hostname', host];
      const checks = ['verify', '-x509_strict', '-purpose', 'sslserver', ...wanted];
      await run('openssl', [...checks, '-CAfile', join(folder, 'ca.pem'), join(folder, 'leaf.pem')]);
      await expect(run('openssl', [...checks, '-CAfile', join(folder, 'other.pem'), join(folder, 'leaf.pem')])).rejects.toThrow();
    }
    // A leaf is no authority.
    const leaf = makeLeaf('api.example', authority, period);
    writeFileSync(join(folder, 'chain.pem'), leaf.certificate);
    writeFileSync(join(folder, 'below.pem'), makeLeaf('below.example', leaf, period).certificate);
    const chain = ['verify', '-CAfile', join(folder, 'ca.pem'), '-untrusted', join(folder, 'chain.pem'), join(folder, 'below.pem')];
    await expect(run('openssl', chain)).rejects.toThrow();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a client that trusts the authority accepts its leaf for that name, and no other client does', async () => {
  const authority = makeAuthority('One', period);
  const { certificate, key } = makeLeaf('api.example', authority, period);
  const server = createServer({ cert: certificate, key }, (socket) => socket.end());
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const attempt = (servername: string, ca?: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, servername, ...(ca !== undefined && { ca }) }, () => {
        resolve('connected');
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  expect(await attempt('api.example', authority.certificate)).toBe('connected');
  expect(await attempt('other.example', authority.certificate)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await attempt('api.example')).toMatch(/UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)/);
  server.close();
});
