/** Credentials in TLS: the box answers as the host only where a rule needs it, and speaks to none but the true host behind it. */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createAuthority } from '../../packages/box/src/sandbox/egress/authority.ts';
import { certifiedFor, clients, past, startUpstream, testAuthority, type Upstream } from '../support/credentials.ts';
import { type EgressBox, startEgressBox } from '../support/egress.ts';

const value = 'value-of-the-token-in-tls';
const large = 24_000_000;
const authority = testAuthority();
const folder = mkdtempSync(join(tmpdir(), 'skillbox-tls-'));

let egress: EgressBox;
/** Each is the server of one name; the last three are not who they say. */
let hosts: Record<'api.test' | 'blind.test' | 'bounded.test' | 'self.test' | 'wrong.test' | 'expired.test', Upstream>;
let plain: Upstream;
/** Proves itself with the box's own authority. */
let boxed: Upstream;
let sandbox: Sandbox;
let without: Sandbox;
const at = (host: keyof typeof hosts): string => `${host}:${hosts[host].port}`;
const arrived = (host: keyof typeof hosts): number => hosts[host].arrived.length;

beforeAll(async () => {
  writeFileSync(join(folder, 'ca.pem'), authority.certificate);
  hosts = {
    'api.test': await startUpstream(certifiedFor('api.test', authority), (request, response) => {
      if (request.url === '/large') return void response.end(Buffer.alloc(large, 'x'));
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      request.on('end', () => response.end(request.url === '/sum' ? String(bytes) : 'hello'));
    }),
    'blind.test': await startUpstream(certifiedFor('blind.test', authority)),
    'bounded.test': await startUpstream(certifiedFor('bounded.test', authority)),
    'self.test': await startUpstream(certifiedFor('self.test', testAuthority())),
    'wrong.test': await startUpstream(certifiedFor('api.test', authority)),
    'expired.test': await startUpstream(certifiedFor('expired.test', authority, past())),
  };
  plain = await startUpstream();
  const names = [...Object.keys(hosts), 'boxed.test'];
  egress = await startEgressBox(names.join(','), { SKILLBOX_EGRESS_CA: join(folder, 'ca.pem') });
  for (const name of names) egress.dns.set(name, ['127.0.0.1']);
  const { box } = egress.box;
  boxed = await startUpstream(await createAuthority(box.store.database, box.secrets).leaf('boxed.test'));
  await egress.box.json('/v1/secrets/TOKEN', { method: 'PUT', body: { value } });
  const credential = (host: keyof typeof hosts) => ({
    host,
    port: hosts[host].port,
    header: 'Authorization',
    value: 'Bearer ${secret}',
    secret: 'TOKEN',
  });
  const list = [
    at('api.test'),
    at('blind.test'),
    at('self.test'),
    at('wrong.test'),
    at('expired.test'),
    `boxed.test:${boxed.port}`,
    `api.test:${plain.port}`,
  ];
  const bounded = { host: 'bounded.test', ports: [hosts['bounded.test'].port], methods: ['GET'], paths: ['/open/*'] };
  const credentials = (['api.test', 'self.test', 'wrong.test', 'expired.test'] as const).map(credential);
  sandbox = await egress.sandbox([], { network: { mode: 'allow', allow: [...list, bounded], tls: true, credentials } });
  without = await egress.sandbox([...list, bounded]);
});
afterAll(async () => {
  await egress.stop();
  for (const upstream of [...Object.values(hosts), plain, boxed]) await upstream.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  for (const upstream of [...Object.values(hosts), plain, boxed]) upstream.arrived.length = 0;
});

/** A tunnel, TLS in it as the test likes, one request; prints what came back. */
const inTunnel = (
  host: string,
  { sni = host.split(':')[0] as string | null, header = host, more = '', path = '/', method = 'GET', early = false } = {},
) => `
import ssl
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = context.wrap_bio(incoming, outgoing, server_hostname=${sni === null ? 'None' : JSON.stringify(sni)})
s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(8)
def pump(step):
    while True:
        try:
            result = step()
            s.sendall(outgoing.read())
            return result
        except ssl.SSLWantReadError:
            s.sendall(outgoing.read())
            data = s.recv(65536)
            if not data: raise EOFError("closed")
            incoming.write(data)
hello = b""
try: tls.do_handshake()
except ssl.SSLWantReadError: hello = outgoing.read()
connect = b"CONNECT ${host} HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n"
s.sendall(connect + hello if ${early ? 'True' : 'False'} else connect)
head = b""
while b"\\r\\n\\r\\n" not in head:
    byte = s.recv(1)
    if not byte: break
    head += byte
said = {"connect": status(head.decode()), "tls": None, "status": 0, "body": ""}
if said["connect"] == 200:
    if not ${early ? 'True' : 'False'}: s.sendall(hello)
    try:
        pump(tls.do_handshake)
        said["tls"] = "ok"
        text = "${method} ${path} HTTP/1.1\\r\\nHost: ${header}\\r\\n${more}Connection: close\\r\\n\\r\\n"
        pump(lambda: tls.write(text.encode("latin1")))
        got = b""
        while True:
            try: chunk = pump(lambda: tls.read(65536))
            except (EOFError, OSError): break
            if not chunk: break
            got += chunk
        said["status"] = status(got.decode("latin1"))
        said["body"] = got.decode("latin1").partition("\\r\\n\\r\\n")[2]
    except (EOFError, OSError) as error: said["tls"] = said["tls"] or "refused"
answer(said)`;
interface Said {
  readonly connect: number;
  readonly tls: 'ok' | 'refused' | null;
  readonly status: number;
  readonly body: string;
}
const talk = (host: string, options: Parameters<typeof inTunnel>[1] = {}, id = sandbox.id): Promise<Said> =>
  egress.python<Said>(id, inTunnel(host, options));
const issuerSeen = (id: string, host: string): Promise<string> =>
  egress
    .exec(
      id,
      `curl -sk -o /dev/null -w '%{certs}' https://${host}/ 2>/dev/null || true; curl -skv https://${host}/ 2>&1 | grep -i 'issuer:'`,
    )
    .then(({ stdout }) => stdout);

it.each(Object.entries(clients))('%s inside trusts the box without being told, and the host gets the credential', async (_name, client) => {
  const { stdout, stderr } = await egress.exec(sandbox.id, client(`https://${at('api.test')}/path`));
  expect([stdout, stderr]).toEqual(['hello', '']);
  expect(hosts['api.test'].arrived).toMatchObject([{ method: 'GET', url: '/path', secure: true }]);
  expect(hosts['api.test'].last('authorization')).toEqual([`Bearer ${value}`]);
  expect(hosts['api.test'].last('host')).toEqual([at('api.test')]);
});

it('replaces what the inside sends under that name, in TLS as elsewhere', async () => {
  const more = 'authorization: mine\\r\\nAUTHORIZATION: mine\\r\\nConnection: authorization\\r\\n';
  expect(await talk(at('api.test'), { more })).toMatchObject({ status: 200, body: expect.stringContaining('hello') });
  expect(hosts['api.test'].last('authorization')).toEqual([`Bearer ${value}`]);
});

it('passes bodies of any length, both ways, in both ways of framing', async () => {
  const base = `https://${at('api.test')}`;
  const { stdout } = await egress.exec(
    sandbox.id,
    `head -c ${large} /dev/zero | curl -sS -H Expect: --data-binary @- ${base}/sum; echo; head -c ${large} /dev/zero | curl -sS -T - ${base}/sum; echo; curl -sS ${base}/large | wc -c`,
  );
  expect(stdout).toBe(`${large}\n${large}\n${large}\n`);
});

it('takes a client that begins TLS before its tunnel stands', async () => {
  expect(await talk(at('api.test'), { early: true })).toMatchObject({ connect: 200, tls: 'ok', status: 200 });
});

it('looks into no tunnel that no rule needs it for: the inside sees the host’s own certificate', async () => {
  expect(await issuerSeen(sandbox.id, at('api.test'))).toContain('Skillbox egress');
  const seen = await issuerSeen(sandbox.id, at('blind.test'));
  expect(seen).toContain('Of a test');
  expect(seen).not.toContain('Skillbox egress');
  expect(hosts['blind.test'].last('authorization')).toEqual([]);
  expect(await issuerSeen(without.id, at('api.test'))).not.toContain('Skillbox egress');
  expect(hosts['api.test'].last('authorization')).toEqual([]);
});

it('is trusted by sandboxes whose template asks for it, and by no other', async () => {
  const ask = async (id: string) => (await egress.exec(id, `curl -sS https://boxed.test:${boxed.port}/; echo " $?"`)).stdout;
  expect(await ask(sandbox.id)).toBe('hello 0\n');
  expect(await ask(without.id)).toBe(' 60\n');
  const strict = 'import urllib.request as u; u.urlopen("https://boxed.test:PORT/")'.replace('PORT', String(boxed.port));
  expect((await egress.exec(without.id, `python3 -c '${strict}' 2>&1 | tail -1`)).stdout).toContain('CERTIFICATE_VERIFY_FAILED');
  expect((await egress.exec(without.id, `ls /.skillbox/box; env | grep -c -E 'SSL_CERT_FILE|NODE_EXTRA'`)).stdout).not.toMatch(/pem|[1-9]/);
  // By the bundle in its usual place too, for programs that read no variable.
  const bare = `env -i PATH=$PATH HTTPS_PROXY=$HTTPS_PROXY curl -sS https://boxed.test:${boxed.port}/`;
  expect((await egress.exec(sandbox.id, bare)).stdout).toBe('hello');
  expect((await egress.exec(without.id, `${bare}; echo $?`)).stdout).toBe('60\n');
});

it('gives the public half of its authority inside, and nothing of the other', async () => {
  const { stdout } = await egress.exec(
    sandbox.id,
    'cat /.skillbox/box/*.pem /etc/ssl/certs/ca-certificates.crt | grep -c PRIVATE; for f in /.skillbox/box/*.pem; do (echo x >> $f) 2>/dev/null && echo WROTE; done; true',
  );
  expect(stdout).toBe('0\n');
  const channel = join(egress.box.stateRoot, 'run', 'channels', sandbox.id);
  expect(readdirSync(channel).sort()).toEqual(['authorities.pem', 'authority.pem', 'box.sock']);
});

it('refuses a tunnel whose TLS or Host header names another host, or none', async () => {
  const before = arrived('api.test');
  for (const sni of ['blind.test', 'sub.api.test', 'api.test.evil.test', null])
    expect(await talk(at('api.test'), { sni }), String(sni)).not.toMatchObject({ status: 200 });
  expect(await talk(at('api.test'), { sni: 'blind.test' })).toMatchObject({ connect: 200, tls: 'refused' });
  expect(await talk(at('api.test'), { sni: null })).toMatchObject({ status: 400, body: expect.stringContaining('SNI') });
  for (const header of [at('blind.test'), 'api.test', `api.test:${plain.port}`, 'localhost'])
    expect(await talk(at('api.test'), { header }), header).toMatchObject({ tls: 'ok', status: 400 });
  expect(await talk(at('api.test'), { more: `Host: ${at('blind.test')}\\r\\n` })).toMatchObject({ status: 400 });
  expect(await talk(at('api.test'), { path: `https://${at('blind.test')}/` })).toMatchObject({ status: 400 });
  expect([arrived('api.test'), arrived('blind.test')]).toEqual([before, 0]);
  expect(await talk(at('api.test'), { sni: 'API.test' })).toMatchObject({ status: 200 });
});

it('sends nothing to a host that cannot prove who it is', async () => {
  for (const host of ['self.test', 'wrong.test', 'expired.test'] as const) {
    const said = await talk(at(host));
    expect(said, host).toMatchObject({ connect: 200, tls: 'ok', status: 502 });
    expect(JSON.parse(said.body)).toMatchObject({ error: 'egress_untrusted', message: expect.stringContaining(host) });
    expect(arrived(host)).toBe(0);
  }
});

it('sends no credential that is for TLS in the clear, at whatever port', async () => {
  const { stdout } = await egress.exec(
    sandbox.id,
    `curl -sS http://api.test:${plain.port}/; curl -sS -o /dev/null -w ' %{http_code}' http://${at('api.test')}/`,
  );
  expect(stdout).toMatch(/^hello (400|502)$/);
  expect(plain.last('authorization')).toEqual([]);
  expect(arrived('api.test')).toBe(0);
});

it('holds requests in TLS to the methods and paths of the list', async () => {
  const host = at('bounded.test');
  expect(await talk(host, { path: '/open/a' })).toMatchObject({ status: 200 });
  for (const wrong of [
    { path: '/closed' },
    { path: '/open/../closed' },
    { path: '/open/a', method: 'POST', more: 'Content-Length: 0\\r\\n' },
  ]) {
    const said = await talk(host, wrong);
    expect(said).toMatchObject({ tls: 'ok', status: 403 });
    expect(JSON.parse(said.body)).toMatchObject({ error: 'egress_not_allowed' });
  }
  expect(arrived('bounded.test')).toBe(1);
  // Without tls: true nothing can be seen, so nothing passes.
  expect(await talk(host, { path: '/open/a' }, without.id)).toMatchObject({ connect: 403 });
});

it('says that it passes no upgrade, and lets no TRACE show the credential', async () => {
  const socket = await talk(at('api.test'), { more: 'Upgrade: websocket\\r\\nConnection: Upgrade\\r\\n' });
  expect(socket).toMatchObject({ status: 400, body: expect.stringContaining('WebSocket') });
  expect(await talk(at('api.test'), { method: 'TRACE' })).toMatchObject({ status: 403 });
  expect(arrived('api.test')).toBe(0);
});

it('obeys a change of the list at once, in tunnels that stand', async () => {
  const { port } = hosts['api.test'];
  const asking = egress.python<number[]>(
    sandbox.id,
    `
import http.client, ssl
connection = http.client.HTTPSConnection("127.0.0.1", 3128, context=ssl.create_default_context(), timeout=5)
connection.set_tunnel("api.test", ${port})
statuses = []
try:
    for turn in range(200):
        connection.request("GET", "/turn")
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
        if response.status != 200: break
        time.sleep(0.05)
except OSError: statuses.append(0)
answer(statuses)`,
  );
  while (arrived('api.test') < 3) await new Promise((resolve) => setTimeout(resolve, 20));
  await egress.network(sandbox.id, { mode: 'none' });
  const statuses = await asking;
  expect(new Set(statuses.slice(0, -1))).toEqual(new Set([200]));
  expect(statuses.at(-1)).toBe(403);
  expect(await talk(at('api.test'))).toMatchObject({ connect: 403 });
  await egress.network(sandbox.id, { mode: 'allow', allow: [at('blind.test')] });
  expect(await talk(at('api.test'))).toMatchObject({ connect: 403 });
  await egress.network(sandbox.id, { mode: 'allow' });
  expect(await talk(at('api.test'))).toMatchObject({ status: 200 });
});

it('records each request in TLS, with the names of what was added and never its value', async () => {
  await talk(at('api.test'), { path: '/recorded?key=query' });
  await talk(at('self.test'));
  const decisions = await egress.decisions(sandbox.id);
  const recorded = decisions.findLast(({ type, data }) => type === 'sandbox.egress_allowed' && data.path === '/recorded');
  expect(recorded?.data).toMatchObject({ method: 'GET', host: 'api.test', credentials: [{ header: 'Authorization', secret: 'TOKEN' }] });
  expect(JSON.stringify(decisions)).not.toMatch(new RegExp(`${value}|key=query`));
  expect(decisions.some(({ data }) => String(data.message).includes('could not prove who it is'))).toBe(true);
});
