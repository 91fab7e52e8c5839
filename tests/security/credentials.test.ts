/** Secrets that the proxy sends on: to their host, for their tenant, and to nobody else, least of all the sandbox. */

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BoxEvent, Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { clients, startUpstream, type Upstream } from '../support/credentials.ts';
import { type EgressBox, startEgressBox } from '../support/egress.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';
import { startDns } from '../support/small-dns.ts';

const value = `tok-${randomBytes(12).toString('hex')}`;
/** A pattern that is not itself what it looks for. */
const pattern = value.replace('tok-', 'tok[-]');

let egress: EgressBox;
let api: Upstream;
let elsewhere: Upstream;
let sandbox: Sandbox;
const url = (host = 'api.test', port = api.port): string => `http://${host}:${port}`;
const rule = (more: object = {}) => ({
  ...{ host: 'api.test', scheme: 'http', port: api.port, header: 'Authorization', value: 'Bearer ${secret}', secret: 'TOKEN' },
  ...more,
});
const network = (credentials: readonly object[]) => ({
  mode: 'allow',
  allow: [`api.test:${api.port}`, `*:${api.port}`, `*:${elsewhere.port}`],
  credentials,
});
const setSecret = (name: string, text: string, tenant = 'default') =>
  egress.box.json(`/v1/secrets/${name}`, { method: 'PUT', body: { value: text }, headers: { 'X-Tenant-ID': tenant } });
const make = async (name: string, credentials: readonly object[], tenant = 'default') => {
  const applied = await egress.box.json(`/v1/templates/${name}`, { method: 'PUT', body: { network: network(credentials) } });
  expect(applied.status, JSON.stringify(applied.body)).toBe(200);
  return egress.box.json<Sandbox>('/v1/sandboxes', { body: { template: name }, headers: { 'X-Tenant-ID': tenant } });
};

beforeAll(async () => {
  api = await startUpstream();
  elsewhere = await startUpstream();
  const names = ['api.test', 'sub.api.test', 'other.test', 'api.test.other.test'];
  egress = await startEgressBox(names.join(','));
  for (const name of names) egress.dns.set(name, ['127.0.0.1']);
  await setSecret('TOKEN', value);
  sandbox = (await make('credentials', [rule(), rule({ header: 'X-Api-Key', value: undefined })])).body;
});
afterAll(async () => {
  await egress.stop();
  await api.stop();
  await elsewhere.stop();
});
beforeEach(() => {
  api.arrived.length = 0;
  elsewhere.arrived.length = 0;
});

it.each(Object.entries(clients))('%s inside, which knows nothing of it, reaches the host with the credential', async (_name, client) => {
  expect((await egress.exec(sandbox.id, client(`${url()}/path?q=1`))).stdout).toBe('hello');
  expect(api.arrived).toMatchObject([{ method: 'GET', url: '/path?q=1' }]);
  expect([api.last('authorization'), api.last('x-api-key')]).toEqual([[`Bearer ${value}`], [value]]);
});

it('replaces what the inside sends under the name of the header, however it is spelled, and sends it once', async () => {
  const host = `api.test:${api.port}`;
  for (const more of [
    'Authorization: mine\\r\\n',
    'authorization: mine\\r\\nAUTHORIZATION: mine too\\r\\n',
    'Connection: Authorization, X-Api-Key\\r\\nAuthorization: mine\\r\\n',
    'X-Api-Key: mine\\r\\nx-api-key: \\r\\n',
    'Proxy-Authorization: mine\\r\\n',
  ]) {
    const answer = await egress.python<string>(sandbox.id, `answer(get("${url()}/", "${host}", "${more}"))`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect([api.last('authorization'), api.last('x-api-key')], more).toEqual([[`Bearer ${value}`], [value]]);
    expect(JSON.stringify(api.arrived)).not.toContain('mine');
  }
});

it('is not moved into another place by line ends, folded lines, names with blanks or a second request in one', async () => {
  const host = `api.test:${api.port}`;
  for (const [more, allowed] of [
    ['X-A: 1\\r\\n folded: yes\\r\\n', [200, 400]],
    ['X-A: 1\\rAuthorization: mine\\r\\n', [400]],
    ['X-A: 1\\nAuthorization: mine\\r\\n', [200, 400]],
    ['Authorization : mine\\r\\n', [400]],
    ['X-A: \\x00Authorization: mine\\r\\n', [400]],
    ['Content-Length: 0\\r\\nTransfer-Encoding: chunked\\r\\n', [400]],
  ] as const) {
    api.arrived.length = 0;
    const status = await egress.python<number>(sandbox.id, `answer(status(get("${url()}/", "${host}", "${more}")))`);
    expect(allowed, more).toContain(status);
    for (const _ of api.arrived) expect([api.last('authorization'), api.last('x-api-key')]).toEqual([[`Bearer ${value}`], [value]]);
    expect(JSON.stringify(api.arrived)).not.toContain('mine');
  }
});

it('goes to its host and port only: not below it, beside it, at another port, or where the Host header says', async () => {
  for (const target of [url('sub.api.test'), url('other.test'), url('api.test.other.test'), url('api.test', elsewhere.port)]) {
    expect((await egress.exec(sandbox.id, `curl -sS ${target}/`)).stdout, target).toBe('hello');
    const { last } = target.endsWith(String(api.port)) ? api : elsewhere;
    expect([last('host'), last('authorization'), last('x-api-key')], target).toEqual([[target.slice(7)], [], []]);
  }
  const before = elsewhere.arrived.length;
  const lies = await egress.python<number[]>(
    sandbox.id,
    `answer([status(get("${url('other.test', elsewhere.port)}/", "api.test:${api.port}")), status(get("http://api.test:${api.port}@other.test:${elsewhere.port}/", "api.test:${api.port}"))])`,
  );
  expect(lies).toEqual([400, 400]);
  expect(elsewhere.arrived.length).toBe(before);
});

it('is not sent for a sandbox whose template does not say so', async () => {
  const { body } = await make('bare', []);
  expect((await egress.exec(body.id, `curl -sS ${url()}/`)).stdout).toBe('hello');
  expect(api.last('authorization')).toEqual([]);
});

it('is that of the tenant whose sandbox it is; without one there is no sandbox', async () => {
  const refused = await make('credentials', [rule()], 'tenant-b');
  expect(refused).toMatchObject({ status: 422, body: { error: 'secret_missing', details: { missing: ['TOKEN'] } } });
  await setSecret('TOKEN', 'value-of-b', 'tenant-b');
  const { body } = await make('credentials', [rule()], 'tenant-b');
  const ran = await egress.box.json(`/v1/sandboxes/${body.id}/programs`, {
    body: { cmd: `curl -sS ${url()}/` },
    headers: { 'X-Tenant-ID': 'tenant-b' },
  });
  expect(ran.body).toMatchObject({ stdout: 'hello' });
  expect(api.last('authorization')).toEqual(['Bearer value-of-b']);
});

it('of the operator is sent where the template names it so, whoever the tenant is', async () => {
  await setSecret('SHARED', 'value-of-the-operator');
  await setSecret('SHARED', 'value-of-b', 'tenant-b');
  const { body } = await make('shared', [rule({ secret: 'default/SHARED' })], 'tenant-b');
  await egress.box.json(`/v1/sandboxes/${body.id}/programs`, {
    body: { cmd: `curl -sS ${url()}/` },
    headers: { 'X-Tenant-ID': 'tenant-b' },
  });
  expect(api.last('authorization')).toEqual(['Bearer value-of-the-operator']);
  const other = await egress.box.json('/v1/templates/stolen', {
    method: 'PUT',
    body: { network: network([rule({ secret: 'tenant-b/SHARED' })]) },
  });
  expect(other.status).toBe(400);
});

it('changes from the next request on, and is refused in plain words once it is deleted', async () => {
  await setSecret('CHANGING', 'first');
  const { body } = await make('changing', [rule({ secret: 'CHANGING' })]);
  const ask = async () => (await egress.exec(body.id, `curl -sS -w ' %{http_code}' ${url()}/`)).stdout;
  expect([await ask(), ...api.last('authorization')]).toEqual(['hello 200', 'Bearer first']);
  await setSecret('CHANGING', 'second');
  expect([await ask(), ...api.last('authorization')]).toEqual(['hello 200', 'Bearer second']);
  await egress.box.request('/v1/secrets/CHANGING', { method: 'DELETE' });
  const before = api.arrived.length;
  const refused = await ask();
  expect(refused).toMatch(/ 502$/);
  expect(JSON.parse(refused.slice(0, -4))).toMatchObject({ error: 'egress_secret_missing', message: expect.stringContaining('CHANGING') });
  expect(api.arrived.length).toBe(before);
});

it('does not come back by TRACE', async () => {
  const answer = await egress.python<string>(sandbox.id, `answer(get("${url()}/", "api.test:${api.port}", method="TRACE"))`);
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).not.toContain(value);
  expect(api.arrived).toEqual([]);
});

it('is nowhere inside: not in the environment, a process, a file, or an answer of the box', async () => {
  await egress.exec(sandbox.id, `curl -sS ${url()}/`);
  const { stdout } = await egress.exec(
    sandbox.id,
    [
      `env | grep -c '${pattern}'`,
      `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -a -c '${pattern}'`,
      `grep -r -s -l '${pattern}' /etc /home /tmp /dev/shm /.skillbox --exclude-dir=proc -D skip | wc -l`,
      `for path in / /network /credentials /secrets /v1/secrets/TOKEN; do curl -s http://box.internal$path; done | grep -c '${pattern}'`,
      `curl -s -x http://127.0.0.1:3128 http://127.0.0.1:3128/network | grep -c '${pattern}'`,
      `curl -si ${url()}/ | grep -c '${pattern}'`,
      `curl -s ${url('nowhere.test')}/ ${url('api.test', 1)}/ | grep -c '${pattern}'`,
    ].join('; '),
  );
  expect(stdout).toBe('0\n'.repeat(7));
});

it('is in no answer of the API, no event and no row; the record names the rule and the secret', async () => {
  await egress.exec(sandbox.id, `curl -sS ${url()}/`);
  const decisions = await egress.decisions(sandbox.id);
  const allowed = decisions.findLast(({ type }) => type === 'sandbox.egress_allowed') as BoxEvent;
  expect(allowed.data).toMatchObject({
    credentials: [
      { header: 'Authorization', secret: 'TOKEN' },
      { header: 'X-Api-Key', secret: 'TOKEN' },
    ],
  });
  const answers = await Promise.all(
    [
      `/v1/sandboxes/${sandbox.id}`,
      '/v1/sandboxes',
      '/v1/templates/credentials',
      '/v1/templates',
      '/v1/secrets',
      '/v1/events?limit=500',
      '/health',
      '/metrics',
    ].map(async (path) => (await egress.box.request(path)).text()),
  );
  expect(answers.join()).toContain('TOKEN');
  expect(answers.join()).not.toContain(value);
  expect(JSON.stringify(decisions)).not.toContain(value);
  const { kysely } = egress.box.box.store.database;
  for (const table of ['secrets', 'events', 'sandboxes', 'templates', 'box_facts'] as const)
    expect(JSON.stringify(await kysely.selectFrom(table).selectAll().execute()), table).not.toContain(value);
});

it('is in nothing that the server logs, at its most talkative, nor in a file of its state root; a new server sends it on', async () => {
  const dns = await startDns();
  dns.set('api.test', ['127.0.0.1']);
  const stateRoot = newStateRoot();
  const env = { SKILLBOX_LOG_LEVEL: 'debug', SKILLBOX_EGRESS_PRIVATE: 'api.test', SKILLBOX_EGRESS_DNS: dns.address };
  let server = await startServerProcess({ stateRoot, env });
  try {
    await server.json('/v1/secrets/TOKEN', { method: 'PUT', body: { value } });
    await server.json('/v1/secrets/TOKEN', { method: 'PUT', body: { value: `${value}\n` } });
    await server.json('/v1/templates/logged', { method: 'PUT', body: { network: { ...network([rule()]), allow: [`*:${api.port}`] } } });
    const { body } = await server.json<Sandbox>('/v1/sandboxes', { body: { template: 'logged' } });
    const run = (cmd: string) => server.json(`/v1/sandboxes/${body.id}/programs`, { body: { cmd } });
    await run(`curl -sS ${url()}/; curl -sS ${url('nowhere.test')}/; curl -sS -X TRACE ${url()}/`);
    expect(api.last('authorization')).toEqual([`Bearer ${value}`]);
    await server.json<Page<BoxEvent>>(`/v1/sandboxes/${body.id}/events`);
    const said = server.log();
    await server.kill();
    server = await startServerProcess({ stateRoot, env });
    api.arrived.length = 0;
    expect((await run(`curl -sS ${url()}/again`)).body).toMatchObject({ stdout: 'hello' });
    expect(api.last('authorization')).toEqual([`Bearer ${value}`]);
    await server.request(`/v1/sandboxes/${body.id}`, { method: 'DELETE' });
    expect(said).toContain('"route":"/v1/secrets/:name"');
    expect(said + server.log()).not.toContain(value);
    const files = readdirSync(stateRoot, { recursive: true, encoding: 'utf8' }).map((name) => join(stateRoot, name));
    const found = files.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() && readFileSync(file).includes(value));
    expect(found).toEqual([]);
  } finally {
    await server.stop();
    await dns.stop();
    rmSync(stateRoot, { recursive: true, force: true });
  }
});

it.each([
  ['a host that the list does not have', { host: 'stranger.test', port: 81 }, /network\.allow/],
  ['a star', { host: '*.api.test' }, /without a star/],
  ['TLS without tls: true', { scheme: 'https' }, /tls: true/],
  ['a header of the connection', { header: 'Transfer-Encoding' }, /belongs to the connection/],
  ['the Host header', { header: 'host' }, /belongs to the connection/],
  ['a value without a place for the secret', { value: 'Bearer' }, /needs/],
  ['a header with a line end', { header: 'X-A\r\nX-B' }, /header/],
  ['a value with a line end', { value: '${secret}\r\nX-B: 1' }, /value/],
  ['a secret of another tenant', { secret: 'tenant-a/TOKEN' }, /secret/],
])('a template cannot ask for %s', async (_what, wrong, message) => {
  const refused = await egress.box.json('/v1/templates/wrong', { method: 'PUT', body: { network: network([rule(wrong)]) } });
  expect([400, 422]).toContain(refused.status);
  expect(refused.body.message).toMatch(message);
});
