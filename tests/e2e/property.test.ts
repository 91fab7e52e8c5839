/**
 * Every route, with generated good and bad requests: never a fault of the box, always an error that can be understood.
 * The seed is printed; SKILLBOX_SEED repeats a run. CI has one seed: there the change is judged, not the dice.
 */

import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type ErrorCode, errorKinds, isErrorCode } from '@skillbox/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Command } from '../../packages/box/src/commands/command.ts';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { graphEnv } from '../support/graph-box.ts';
import { echoSkill, parseAnswer, rawExchange, zipOf } from './wire.ts';

const seed = Number(process.env.SKILLBOX_SEED ?? (process.env.CI ? 20_261_116 : Date.now() % 2 ** 31));
const perCommand = { numRuns: 200, timeLimitMs: 1300 };

let box: TestBox;
let agent: Agent;
let zip: Buffer;
let executionId: string;
let sandboxId: string;
/** Paused, forked, ended and recreated by the requests. */
let spareId: string;
/** A program with a terminal that goes on. */
let terminal: string | undefined;
let snapshotId: string;
let expiredKey: string;
/** One that goes on, and one that has ended. */
let session: string;
let endedSession: string;

beforeAll(async () => {
  console.log(`property tests with SKILLBOX_SEED=${seed}`);
  box = await startTestBox({
    ...graphEnv(),
    SKILLBOX_MAX_REQUEST_SIZE: '64Ki',
    SKILLBOX_MAX_SKILL_SIZE: '64Ki',
    SKILLBOX_MAX_TIMEOUT: '2s',
    SKILLBOX_LOG_LEVEL: 'silent',
    SKILLBOX_WEBHOOK_PRIVATE_ADDRESSES: 'allow',
  });
  agent = new Agent({ keepAlive: true, maxSockets: 8 });
  zip = await zipOf(echoSkill('pushed'));
  await box.push(echoSkill());
  await box.json('/v1/webhooks', { body: { name: 'hooked', url: 'http://127.0.0.1:9/' } });
  executionId = (await box.run('echo', { input: 1 })).execution_id;
  expiredKey = await box.newKey('prop', ['skills:read']);
  sandboxId = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base' } })).body.id;
  spareId = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base' } })).body.id;
  snapshotId = (await box.json<{ id: string }>(`/v1/sandboxes/${spareId}/snapshots`, { body: {} })).body.id;
  const begin = async () =>
    (await box.json<{ session_id: string }>('/v1/runtime/sessions', { body: { client_id: 'acme' } })).body.session_id;
  [session, endedSession] = [await begin(), await begin()];
  // Program 1 has ended.
  await box.json(`/v1/sandboxes/${sandboxId}/programs`, { body: { cmd: 'echo 1' } });
});
// A generated Ctrl-C, signal or time to live may end what the next route needs.
beforeEach(async () => {
  await box.json(`/v1/sandboxes/${spareId}/recreate`, { body: {} });
  await box.json(`/v1/sandboxes/${spareId}/resume`, { body: {} });
  await box.json(`/v1/sandboxes/${spareId}/ttl`, { body: { ttl: '10m' } });
  await box.json(`/v1/runtime/sessions/${session}/resume`, { body: {} });
  await box.json(`/v1/runtime/sessions/${endedSession}/end`, { body: {} });
  await box.request(`/v1/sandboxes/${sandboxId}/files?path=a.txt`, { method: 'PUT', body: 'x' });
  await box.push(echoSkill('pushed'));
  // A sandbox keeps a bounded number of programs: another terminal only where the last one has ended.
  const last = terminal === undefined ? undefined : await box.json<{ ended?: boolean }>(`/v1/sandboxes/${sandboxId}/programs/${terminal}`);
  if (last?.body.ended === false) return;
  const { status, body } = await box.json<{ program_id: number }>(`/v1/sandboxes/${sandboxId}/programs`, {
    body: { cmd: 'stty raw -echo; exec sleep 600', pty: {}, wait: false },
  });
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  terminal = String(body.program_id);
});
afterAll(async () => {
  agent.destroy();
  await box.request(`/v1/sandboxes/${sandboxId}`, { method: 'DELETE' });
  // A good request may have started the service and pulse.
  await box.json('/v1/runtime/down', { body: {} });
  await box.stop();
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | undefined;
}

function send({ method, path, headers, body }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(box.url);
    const request = httpRequest({ hostname, port, method, path, headers, agent }, (response) => {
      // Some streams do not end by themselves.
      if (String(response.headers['content-type']).startsWith('text/event-stream') && method !== 'HEAD') {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: '' });
        response.destroy();
        return;
      }
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Fails unless the answer is one that a caller can live with. */
function check(answer: Answer, sent: { method: string; headers: Record<string, string> }): void {
  const { status, headers, body } = answer;
  const requestId = String(headers['x-request-id']);
  const given = sent.headers['X-Request-ID'];
  // A head that is too large is refused before its lines are read.
  if (status !== 431 && given && /^[\w.:-]{1,128}$/.test(given)) expect(requestId).toBe(given);
  else expect(requestId).toMatch(/^[\w.:-]{1,128}$/);
  if (sent.method === 'HEAD') {
    expect(body).toBe('');
    expect(status === 503 || status < 500).toBe(true);
    return;
  }
  if (status < 400) {
    if (String(headers['content-type']).startsWith('application/json')) JSON.parse(body);
    return;
  }
  expect(headers['content-type']).toBe('application/json');
  const error = JSON.parse(body) as Record<string, unknown>;
  expect(isErrorCode(String(error.error)), body).toBe(true);
  const expected = errorKinds[error.error as ErrorCode].status;
  expect(status < 500 || status === 503, `${status}: ${body}`).toBe(true);
  if (status !== 431) expect(status).toBe(expected === 200 ? 503 : expected);
  expect(error.message).toMatch(/\S/);
  expect(error.hint).toMatch(/\S/);
  expect(error.request_id).toBe(requestId);
  expect(body).not.toMatch(/\n? {2,}at |node_modules|SqliteError|SQLITE_|\.ts:\d/);
  if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '.',
    '..',
    '__proto__',
    'constructor',
    'null',
    '-1',
    '0',
    '1e999',
    'NaN',
    '\0',
    '\ud800',
    '../../etc/passwd',
    '%',
    '%00',
  ),
  fc.constantFrom('é'.repeat(300), 'x'.repeat(5000), '💥', "';drop table skills;--", '{{x}}', '[object Object]'),
);
const encode = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
/** As it may stand in a request line: well encoded, badly encoded, or with a slash that is and is not one. */
const pathPart = (good: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 4, arbitrary: good.map(encode) },
    { weight: 3, arbitrary: oddText.map(encode) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '%',
        '%zz',
        '%ff',
        '%c0%80',
        '%2e%2e',
        '%2F',
        'a%2fb',
        '%00',
        '%E0%A4%A',
        'a;b=c',
        '+',
        '~',
        '*',
        '%25',
        '//',
        '.',
      ),
    },
  );

const version = fc.constantFrom('1.0.0', 'latest', '9.9.9', '1.0.0-rc.1', '01.0.0', `1.0.${'9'.repeat(12)}`);
const goodParams = (command: Command): Record<string, fc.Arbitrary<string>> => {
  const spare = command.name === 'skill.delete' ? fc.constantFrom('pushed', 'absent') : fc.constantFrom('echo', 'pushed', 'absent');
  return {
    // Nobody must change the limits of the tenant that does the asking.
    name: command.name.startsWith('tenant')
      ? fc.constantFrom('prop', 'acme')
      : command.name.startsWith('webhook')
        ? fc.constantFrom(command.name === 'webhook.delete' ? 'gone' : 'hooked', 'absent')
        : command.name === 'template.show'
          ? fc.constantFrom('base', 'base@1', 'absent')
          : spare,
    version,
    id: goodId(command),
    program: fc.oneof(
      fc.constant(0).map(() => (command.name === 'sandbox.output' ? '1' : (terminal ?? '2'))),
      fc.constantFrom('999999', '0', '-1', '1e3'),
    ),
    port: fc.constantFrom('8000', '0', '65536', '80x'),
    path: fc.constantFrom(command.name === 'skill.file' ? 'SKILL.md' : 'a.txt', 'a.txt', 'a/b', '.', '..'),
  };
};

const lifecycle = /^sandbox\.(get|destroy|recreate|ttl|pause|resume|snapshot|restore|fork|events)$/;

function goodId({ name }: Command): fc.Arbitrary<string> {
  if (name === 'session.resume') return fc.constant(0).map(() => endedSession);
  if (name.startsWith('session')) return fc.constant(0).map(() => session);
  if (name.startsWith('key')) return fc.constantFrom('key_0123456789abcdef', 'key_x');
  if (name.startsWith('snapshot')) return fc.constantFrom(`s${'0'.repeat(19)}`, 's');
  if (lifecycle.test(name)) return fc.constant(0).map(() => spareId);
  if (name.startsWith('sandbox')) return fc.constant(0).map(() => sandboxId);
  return fc.constant(0).map(() => executionId);
}

const someClient = fc.constantFrom('acme', 'acme', 'nobody', 'A b', '');
const someProfiles = fc.constantFrom('core', 'core,core', 'local-nothing', ',', '../x');
const someServices = fc.constantFrom('web', 'web,web', 'absent', 'web,', '__proto__');

const goodQuery: Record<string, fc.Arbitrary<string>> = {
  client: someClient,
  client_id: someClient,
  profile: someProfiles,
  service: someServices,
  lines: fc.constantFrom('1', '10000', '0', '1e9', 'x'),
  why: fc.constantFrom('true', 'false', 'x'),
  limit: fc.constantFrom('1', '50', '500', '501', '0', '1.5', '1e2', ''),
  cursor: fc.oneof(
    fc.string({ maxLength: 20 }),
    fc
      .array(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 10 }),
          fc.integer(),
          fc.constantFrom('12', '2026-01-01T00:00:00.000Z', '-5', '1e9'),
        ),
        { maxLength: 3 },
      )
      .map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url')),
  ),
  q: fc.oneof(fc.constant('echo'), oddText),
  path: fc.constantFrom('a.txt', 'a.txt', '.', '..', '/', '/etc/passwd', '/dev/null', '/proc/self/mem', 'missing', '\0', 'x'.repeat(5000)),
  offset: fc.constantFrom('0', '1', '-1', '99999999999999999999'),
  depth: fc.constantFrom('1', '3', '0', '65'),
  mode: fc.constantFrom('644', '9', '0000', '77777'),
  append: fc.constantFrom('true', 'false', '1'),
  new: fc.constantFrom('true', 'false', ''),
  follow: fc.constantFrom('true', 'false', 'x'),
  encoding: fc.constantFrom('text', 'base64', 'utf16'),
  recursive: fc.constantFrom('true', 'false', 'x'),
  type: fc.constantFrom('audit.', 'execution.finished', 'a'.repeat(200), '%', '_', '\0'),
  subject: fc.constantFrom('execution:1', 'execution:', ':', 'a:b:c', 'execution:\0'),
  since: fc.constantFrom(
    '2026-01-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '9999-12-31T23:59:59Z',
    '0000-01-01T00:00:00Z',
    'now',
    '2026-01-01T00:00:00+02:00',
  ),
  status: fc.constantFrom('success', 'queued', 'odd'),
  skill: fc.constantFrom('echo', '', '../x'),
  tenant: fc.constantFrom('default', 'prop', 'A', '', '\0'),
  expires: fc.constantFrom('1', '99999999999999', 'x'),
  signature: oddText,
};

const queryFor = (command: Command) => {
  const names = fc.oneof(fc.constantFrom(...Object.keys(command.input.shape), ...Object.keys(goodQuery)), oddText);
  const pair = names.chain((name) =>
    fc.tuple(fc.constant(name), fc.oneof(Object.hasOwn(goodQuery, name) ? (goodQuery[name] ?? oddText) : oddText, oddText)),
  );
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant('') },
    {
      weight: 4,
      arbitrary: fc
        .array(pair, { maxLength: 4 })
        .map((pairs) => pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')),
    },
    { weight: 1, arbitrary: fc.constantFrom('&&&', '=', '%', '%ff=%ff', 'limit', 'limit=1&limit=2', '?', `q=${'x'.repeat(6000)}`) },
  );
};

/** Nothing but what cannot be left out. */
const neededQuery = ({ http, input }: Command): fc.Arbitrary<string> => {
  const inBody = (name: string): boolean => http.raw !== undefined && name === 'body';
  const needed = Object.entries(input.shape).filter(
    ([name, type]) => !inBody(name) && !http.path.includes(`:${name}`) && !type.safeParse(undefined).success,
  );
  return fc
    .tuple(...needed.map(([name]) => (goodQuery[name] ?? fc.constant('x')).map((value) => `${encode(name)}=${encode(value)}`)))
    .map((pairs) => pairs.join('&'));
};

const strangeValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, 1e308, -0, Number.MAX_SAFE_INTEGER + 1, '', [], {}, true, [[[[]]]], { toString: 1 }, { length: -1 }),
  oddText,
);
const goodBody: Record<string, fc.Arbitrary<unknown>> = {
  'execution.create': fc.record(
    {
      skill: fc.constantFrom('echo', 'echo', 'absent'),
      version,
      input: strangeValue,
      env: fc.dictionary(fc.oneof(fc.constantFrom('A', 'PATH', 'SANDBOX_X'), oddText), oddText, { maxKeys: 3 }),
      files: fc.dictionary(
        fc.oneof(fc.constantFrom('a', 'a/b', '../x', '/x', 'a//b'), oddText),
        fc.oneof(fc.base64String({ maxLength: 40 }), oddText),
        { maxKeys: 3 },
      ),
      timeout: fc.oneof(fc.constantFrom('1s', '0s', '999999999999h', 'x', 0, -1, 1e-9, 86_400), fc.double()),
      wait: fc.boolean(),
    },
    { requiredKeys: ['skill'] },
  ),
  'sandbox.exec': fc.record(
    {
      cmd: fc.constantFrom('true', 'echo x', 'exit 3', 'a\0b', ''),
      env: fc.dictionary(fc.oneof(fc.constantFrom('A', 'PATH'), oddText), oddText, { maxKeys: 2 }),
      cwd: fc.constantFrom('/tmp', 'missing', '..', '\0'),
      user: fc.constantFrom('user', 'root'),
      stdin: fc.oneof(fc.boolean(), oddText),
      timeout: fc.constantFrom('1s', 1, 0, -1, 'x', 1e9),
      wait: fc.constant(false),
      tag: oddText,
    },
    { requiredKeys: ['cmd', 'wait'] },
  ),
  'sandbox.stdin': fc.record({ data: oddText, encoding: fc.constantFrom('text', 'base64', 'x') }, { requiredKeys: ['data'] }),
  'sandbox.signal': fc.record({ signal: fc.constantFrom('CONT', 'SIGCONT', 18, 'odd', -1, 1e9, 0) }),
  'sandbox.resize': fc.record({ cols: fc.constantFrom(80, 0, 1001, 'x'), rows: fc.constantFrom(24, 24, -1) }),
  'sandbox.file.mkdir': fc.record({ path: fc.oneof(fc.uuid(), oddText) }),
  'sandbox.file.move': fc.record({ from: fc.constantFrom('a.txt', 'missing'), to: fc.constantFrom('a.txt', '/usr/x', 'missing/x', '\0') }),
  'sandbox.create': fc.record(
    {
      template: fc.constantFrom('base', 'canary', 'canary@1', 'canary@9', 'vm-attach', 'compose-e2e', 'nobodys'),
      labels: fc.dictionary(oddText, oddText, { maxKeys: 3 }),
      env: fc.dictionary(fc.oneof(fc.constantFrom('A', 'PATH'), oddText), oddText, { maxKeys: 3 }),
      ttl: fc.oneof(fc.constantFrom('1s', '10m', '0s', '999999999h', 'x', 0, -1, 1e-9), fc.double()),
      on_expiry: fc.constantFrom('destroy', 'pause', 'x'),
      snapshot: fc.constantFrom(`s${'0'.repeat(19)}`, 'x'),
      inputs: fc.dictionary(oddText, strangeValue, { maxKeys: 3 }),
      network: fc.record(
        { mode: fc.constantFrom('none', 'allow'), allow: fc.array(oddText, { maxLength: 2 }) },
        { requiredKeys: ['mode'] },
      ),
    },
    { requiredKeys: [] },
  ),
  'sandbox.ttl': fc.record({ ttl: fc.oneof(fc.constantFrom('10m', '0s', '1e9h', '25h', 0, 1e7), fc.double()) }),
  'sandbox.network': fc.record(
    {
      mode: fc.constantFrom('none', 'allow', 'full', 0),
      allow: fc.array(
        fc.oneof(fc.constantFrom('example.com', '*.a.b:8443', '[::1]:80', { host: '*', paths: ['/a/*'] }), oddText, strangeValue),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: [] },
  ),
  'sandbox.restore': fc.constant(0).chain(() => fc.record({ snapshot: fc.constantFrom(snapshotId, `s${'0'.repeat(19)}`, 'x') })),
  'sandbox.fork': fc.record({ count: fc.constantFrom(1, 0, 33, 1.5), ttl: fc.constantFrom('1m', '0s', '99h') }, { requiredKeys: [] }),
  'template.apply': fc.record(
    {
      providers: fc.array(fc.constantFrom('bubblewrap', 'x', ''), { maxLength: 2 }),
      resources: fc.record({ memory: fc.oneof(fc.constantFrom('1Gi', '1Q', -1), fc.double()) }, { requiredKeys: [] }),
      ttl: fc.record({ default: fc.constantFrom('1h', '2h', 0), max: fc.constantFrom('1h', 'x') }, { requiredKeys: [] }),
      inputs: fc.oneof(fc.constantFrom({ type: 'object' }, { type: 'odd' }, { pattern: '(' }), strangeValue),
      setup: fc.array(oddText, { maxLength: 2 }),
    },
    { requiredKeys: [] },
  ),
  'key.create': fc.record(
    {
      name: oddText,
      tenant: fc.constantFrom('prop', 'default', 'A b'),
      actor: fc.constantFrom('adm', 'agt', 'x'),
      scopes: fc.array(fc.constantFrom('skills:read', 'admin', 'none'), { maxLength: 3 }),
      expires_in: fc.constantFrom('1ms', '24h', '999999999h', '1y', '-1s'),
    },
    { requiredKeys: [] },
  ),
  'signin.link': fc.record({ scopes: fc.array(fc.constantFrom('skills:read', 'admin', 'none'), { maxLength: 3 }) }, { requiredKeys: [] }),
  'signin.exchange': fc.record({ code: fc.oneof(fc.constant('a'.repeat(43)), oddText) }),
  'webhook.create': fc.record(
    {
      name: fc.oneof(fc.uuid(), oddText),
      url: fc.constantFrom('http://127.0.0.1:9/', 'https://127.0.0.1:9/x?y=z', 'http://[::1]:9', 'ftp://x', 'http://a:b@127.0.0.1:9/', ''),
      events: fc.array(fc.constantFrom('*', 'sandbox.*', 'skill.pushed', '.', 'x*'), { maxLength: 3 }),
    },
    { requiredKeys: ['name', 'url'] },
  ),
  'webhook.retry': fc.record({ event: fc.constantFrom('evt_', `evt_${'0'.repeat(36)}`, '') }, { requiredKeys: [] }),
  'credits.grant': fc.record(
    {
      tenant: fc.constantFrom('prop', 'A b'),
      amount: fc.oneof(fc.constantFrom(1e-300, 1e-6, 1, 1e9, 1e10), fc.double()),
      note: oddText,
    },
    { requiredKeys: ['tenant', 'amount'] },
  ),
  // Dry runs, most of the time: what they would start takes longer than the rest together.
  ...Object.fromEntries(
    ['sync', 'bootstrap', 'context', 'up', 'down', 'restart'].map((name) => {
      const of = { client: someClient, profile: someProfiles, dry_run: fc.constant(true) };
      const service = { service: someServices, wait_seconds: fc.constantFrom(1, 0, -1, 1e9) };
      const more: Record<string, fc.Arbitrary<unknown>> = name === 'bootstrap'
        ? { task: fc.constantFrom('make', 'absent') }
        : ['sync', 'context'].includes(name)
          ? {}
          : service;
      return [name, fc.record<Record<string, unknown>, string>({ ...of, ...more }, { requiredKeys: ['dry_run'] })];
    }),
  ),
  focus: fc.record(
    { client_id: fc.constantFrom('nobody', 'A b'), mode: fc.constantFrom('reuse', 'x'), resume: fc.boolean() },
    { requiredKeys: [] },
  ),
  'pulse.start': fc.record({ interval: fc.oneof(fc.constantFrom(30, 0, -1, 1e9), fc.double()) }, { requiredKeys: [] }),
  'session.start': fc.record({ client_id: someClient, label: oddText, goal: oddText }, { requiredKeys: ['client_id'] }),
  'session.event': fc.record(
    { type: fc.constantFrom('note', 'a.b', 'A', ''), message: oddText, detail: fc.dictionary(oddText, strangeValue, { maxKeys: 3 }) },
    { requiredKeys: ['message'] },
  ),
  'session.end': fc.record({ state: fc.constantFrom('completed', 'failed', 'active'), summary: oddText }, { requiredKeys: [] }),
  'secret.set': fc.record({ value: fc.oneof(fc.constantFrom('x', 'a b', ' a', 'a\r\nb', '', 'x'.repeat(9000)), oddText) }),
  'tenant.set': fc.record(
    {
      slots: fc.oneof(fc.integer(), fc.double()),
      requests_per_second: fc.oneof(fc.constantFrom(1e-300, 1, 1e5), fc.double()),
      storage_bytes: fc.oneof(fc.maxSafeNat(), fc.double()),
    },
    { requiredKeys: [] },
  ),
};

/** A good body, often with one thing wrong. */
const bodyFor = (command: Command): fc.Arbitrary<Buffer | undefined> => {
  const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? '');
  const good = goodBody[command.name] ?? fc.constant({});
  const wrongField = fc
    .tuple(good, fc.constantFrom(...Object.keys(command.input.shape), '__proto__', 'extra'), strangeValue)
    .map(([body, name, value]) => {
      const pairs = Object.entries({ ...(body as object) }).filter(([key]) => key !== name);
      // Written by hand, so that __proto__ gets onto the wire.
      return Buffer.from(
        `{${[...pairs, [name, value]].map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item) ?? 'null'}`).join(',')}}`,
      );
    });
  const archive = fc.oneof(
    fc.constant(0).map(() => zip),
    fc.nat({ max: 600 }).map((length) => zip.subarray(0, length)),
    fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(([at, byte]) => {
      const changed = Buffer.from(zip);
      changed[at % changed.length] = byte;
      return changed;
    }),
    fc
      .constantFrom('--x\r\n', '--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nabc\r\n--x--', 'PK\x05\x06')
      .map((part) => Buffer.from(part)),
  );
  return fc.oneof(
    { weight: command.http.upload ? 1 : 4, arbitrary: good.map(text) },
    { weight: 3, arbitrary: wrongField },
    { weight: command.http.upload ? 8 : 1, arbitrary: archive },
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: good.chain((body) => fc.nat({ max: 200 }).map((length) => text(body).subarray(0, length))) },
    { weight: 1, arbitrary: strangeValue.map(text) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(
          '{"skill":1e999999}',
          `{"skill":"echo","input":${'['.repeat(30_000)}`,
          `{"a":${'{"a":'.repeat(300)}1${'}'.repeat(301)}`,
          '\ufeff{}',
          '{}{}',
          'x'.repeat(70_000),
        )
        .map((body) => Buffer.from(body)),
    },
  );
};

const headerText = fc.string({ unit: fc.constantFrom(...'abz09 ,;:=/-_."\t'), maxLength: 30 });
const headersFor = (command: Command): fc.Arbitrary<Record<string, string>> =>
  fc
    .record(
      {
        'Content-Type': fc.oneof(
          fc.constantFrom(
            'application/json',
            'application/zip',
            'multipart/form-data; boundary=x',
            'multipart/form-data',
            'text/plain',
            'application/json; charset=latin1',
            '',
          ),
          headerText,
        ),
        'Idempotency-Key': fc.oneof(fc.uuid(), headerText, fc.constant('x'.repeat(300))),
        'X-Request-ID': fc.oneof(fc.uuid(), headerText),
        'X-Tenant-ID': fc.constantFrom('default', 'prop', 'A', '', 'x'.repeat(100)),
        'Last-Event-ID': fc.oneof(fc.nat().map(String), fc.constantFrom('-1', '1e9', '99999999999999999999'), headerText),
        Accept: headerText,
        'Accept-Encoding': fc.constantFrom('gzip', 'identity', '*'),
        Range: fc.constantFrom('bytes=0-1', 'bytes=5-1', 'x'),
        'X-Skillbox-Forwarded': fc.constant('host-x'),
        'X-Big': fc.constant('y'.repeat(9000)),
      },
      { requiredKeys: [] },
    )
    .chain((headers) =>
      fc.constantFrom('admin', 'admin', 'admin', 'admin', 'admin', 'other', 'none', 'odd').map((who) => {
        const keys: Record<string, string | undefined> = {
          admin: `Bearer ${box.key}`,
          other: `Bearer ${expiredKey}`,
          odd: 'Bearer sk-odd',
        };
        const usual = command.http.upload ? { 'Content-Type': 'application/zip' } : {};
        return { ...usual, ...headers, ...(keys[who] && { Authorization: keys[who] }) };
      }),
    );

const requestFor = (command: Command): fc.Arbitrary<Sent> => {
  const params = goodParams(command);
  const names = [...command.http.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  const parts = fc.tuple(...names.map((name) => pathPart(params[name] ?? oddText)));
  const others = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY');
  const method = fc.oneof({ weight: 9, arbitrary: fc.constant<string>(command.http.method) }, { weight: 1, arbitrary: others });
  return fc.tuple(method, parts, queryFor(command), headersFor(command), bodyFor(command)).map(([verb, values, query, headers, body]) => {
    let index = 0;
    const path = command.http.path.replace(/:\w+\*?/g, () => values[index++] ?? '');
    const bodiless = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'DELETE'].includes(verb);
    return {
      method: verb,
      path: query ? `${path}?${query}` : path,
      headers: body && bodiless ? { ...headers, 'Content-Length': String(body.length) } : headers,
      body,
    };
  });
};

const plainRequestFor = (command: Command): fc.Arbitrary<Sent> => {
  const params = goodParams(command);
  const names = [...command.http.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  const parts = fc.tuple(...names.map((name) => (params[name] ?? oddText).map(encode)));
  const type = command.http.upload ? 'application/zip' : command.http.raw ? 'application/octet-stream' : 'application/json';
  const queries = fc.oneof(queryFor(command), neededQuery(command));
  return fc.tuple(parts, queries, bodyFor(command)).map(([values, query, body]) => {
    let index = 0;
    const path = command.http.path.replace(/:\w+\*?/g, () => values[index++] ?? '');
    const bodiless = ['GET', 'DELETE'].includes(command.http.method);
    return {
      method: command.http.method,
      path: query ? `${path}?${query}` : path,
      headers: { Authorization: `Bearer ${box.key}`, ...(!bodiless && { 'Content-Type': type }) },
      body: bodiless ? undefined : body,
    };
  });
};

it.each(commands.map((command) => [`${command.http.method} ${command.http.path}`, command] as const))('%s', async (_name, command) => {
  const reached = new Set<number>();
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(requestFor(command), async (sent) => {
      // Nobody deletes what the others need, and nobody turns the rate of the tenant that asks.
      const shared = sent.path.startsWith('/v1/skills/echo') || sent.path.includes(executionId);
      if (/^\/v1\/tenants\/default\b/.test(sent.path) || (sent.method === 'DELETE' && shared)) return;
      // A head that is too large is refused unread: nobody can know then that HEAD wants no body.
      if (sent.method === 'HEAD' && sent.path.length + JSON.stringify(sent.headers).length > 12_000) return;
      const answer = await send(sent);
      asked += 1;
      reached.add(answer.status);
      check(answer, sent);
    }),
    { seed, numRuns: perCommand.numRuns, interruptAfterTimeLimit: perCommand.timeLimitMs, markInterruptAsFailure: false },
  );
  // Otherwise the generators have drifted away from what the route takes; a busy machine may not get far enough to tell.
  if (asked < perCommand.numRuns / 2) return;
  expect([...reached].some((status) => status >= 400)).toBe(true);
  // What they are about has ended, has no files or packages, or is not there.
  const neverGood =
    ['/v1/keys/:id', '/v1/snapshots/:id', '/v1/skills/:name/:version/build', '/v1/executions/:id/files/:path*'].includes(
      command.http.path,
    ) || ['execution.delete', 'execution.cancel', 'webhook.delete', 'signin.exchange', 'focus'].includes(command.name);
  if (neverGood) return;
  // Good ones are rare among so many ways to be wrong; these are wrong in their query and body at most.
  for (const sent of fc.sample(plainRequestFor(command), { seed, numRuns: 400 })) {
    if ([...reached].some((status) => status < 300)) break;
    reached.add((await send(sent)).status);
  }
  expect([...reached].some((status) => status < 300)).toBe(true);
});

it('bytes that are hardly HTTP', async () => {
  const { host } = new URL(box.url);
  const line = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1',
      'GET /v1/skills HTTP/1.0',
      'GET http://other.example/livez HTTP/1.1',
      'GET * HTTP/1.1',
      'POST /v1/executions HTTP/1.1',
      'GET  / HTTP/1.1',
      'get / http/1.1',
      'GET / HTTP/9.9',
      'FOO /v1/skills HTTP/1.1',
      'GET //v1/skills HTTP/1.1',
      'GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1',
      'GET /v1/../livez HTTP/1.1',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 30 }).map((text) => `GET /${text} HTTP/1.1`),
  );
  const header = fc.oneof(
    fc.constantFrom(
      `Host: ${host}`,
      'Host: ',
      'Host: a:b:c',
      'Content-Length: 5',
      'Content-Length: -1',
      'Content-Length: 99999999999999999999',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: gzip',
      'Expect: 100-continue',
      'Expect: x',
      'Upgrade: h2c',
      'Connection: upgrade',
      'Authorization: Bearer',
      'Authorization:',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 20 }),
  );
  const tail = fc.constantFrom('', 'hello', '5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', '{}');
  await fc.assert(
    fc.asyncProperty(line, fc.array(header, { maxLength: 4 }), tail, async (first, headers, rest) => {
      const text = await rawExchange(
        box.url,
        Buffer.from(`${[first, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n${rest}`, 'latin1'),
        60,
      );
      // A body that never comes has no answer yet; everything that has one is JSON or a page.
      const last = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
      if (last === '') return;
      const answer = parseAnswer(last);
      expect(answer.status).toBeGreaterThanOrEqual(200);
      if (answer.status >= 400) check(answer, { method: 'GET', headers: {} });
    }),
    { seed, numRuns: 60, interruptAfterTimeLimit: 4000, markInterruptAsFailure: false },
  );
});

it('and the box is as well as before', async () => {
  expect((await box.json('/ready')).status).toBe(200);
  expect(await box.run('echo', { input: { still: 'here' } })).toMatchObject({ status: 'success', output: { still: 'here' } });
  expect((await box.json(`/v1/executions/${randomUUID()}`)).status).toBe(404);
  const metrics = await (await box.request('/metrics')).text();
  expect(metrics.match(/^skillbox_http_requests_total\{.*status="50[0124-9]".*$/gm)).toBeNull();
});
