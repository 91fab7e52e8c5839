/** What holds for every request: ids, probes, methods, bodies that are refused or break off, the audit and the log. */

import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { BoxEvent, Execution } from '@skillbox/protocol';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { loadConfig } from '../../packages/box/src/config.ts';
import { startServer } from '../../packages/box/src/server/serve.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { graphEnv } from '../support/graph-box.ts';
import { parseAnswer, rawExchange, shellSkill, until, zipOf } from './wire.ts';

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox({ ...graphEnv(), SKILLBOX_MAX_SKILL_SIZE: '1Mi', SKILLBOX_MAX_REQUEST_SIZE: '256Ki' });
  await box.push(shellSkill());
});
afterAll(() => box.stop());

const hostLine = () => `Host: ${new URL(box.url).host}`;
const openFiles = () => readdirSync('/proc/self/fd').length;
const folderCount = (...parts: string[]) => readdirSync(join(box.stateRoot, ...parts), { recursive: true }).length;

describe('request ids', () => {
  it('are made when there is none, echoed when there is a good one, and replaced when it is odd', async () => {
    const made = (await box.request('/livez')).headers.get('x-request-id');
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    expect((await box.request('/livez')).headers.get('x-request-id')).not.toBe(made);
    for (const path of ['/livez', '/v1/skills', '/nowhere', '/openapi.json', '/metrics', '/docs'])
      expect((await box.request(path, { headers: { 'X-Request-ID': 'trace:1.a-b_C' } })).headers.get('x-request-id')).toBe('trace:1.a-b_C');
    for (const odd of ['a b', 'x'.repeat(129), '<script>'])
      expect((await box.request('/livez', { headers: { 'X-Request-ID': odd } })).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('stand in the body of an error', async () => {
    const { body, headers } = await box.json('/v1/skills/absent/latest', { headers: { 'X-Request-ID': 'mine-1' } });
    expect(body.request_id).toBe('mine-1');
    expect(headers.get('x-request-id')).toBe('mine-1');
    expect(headers.get('content-type')).toBe('application/json');
  });
});

describe('probes and pages', () => {
  it('/livez, /ready and /health answer without a key', async () => {
    const livez = await box.request('/livez', { key: null });
    expect([livez.status, await livez.text()]).toEqual([200, 'ok\n']);
    expect(await box.json('/ready', { key: null })).toMatchObject({
      status: 200,
      body: { status: 'ok', checks: { database: 'ok', blobs: 'ok', sandboxes: 'ok', disk: 'ok' } },
    });
    expect(await box.json('/health', { key: null })).toMatchObject({
      status: 200,
      body: { version: box.box.version, host: box.box.host, missing_layers: [] },
    });
  });

  it('/docs is a page that names every route and loads nothing', async () => {
    const response = await box.request('/docs', { key: null });
    const page = await response.text();
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const { http } of commands) expect(page).toContain(`<code>${http.path}</code>`);
    expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const root = await box.request('/', { key: null });
    expect(root.status).toBe(200);
    expect(root.url).toBe(`${box.url}/ui/`);
  });

  it('/metrics is Prometheus text whose counts move, without names of tenants, skills or ids', async () => {
    const read = async () => (await box.request('/metrics', { key: null })).text();
    const value = (text: string, line: string) =>
      Number(
        text
          .split('\n')
          .find((candidate) => candidate.startsWith(`${line} `))
          ?.split(' ')[1] ?? 0,
      );
    const before = await read();
    for (const line of before.split('\n').filter((text) => text !== ''))
      expect(line).toMatch(
        /^(# (HELP|TYPE) [a-zA-Z_:][\w:]* .+|[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="(\\.|[^"\\])*",?)*\})? (-?[\d.e+-]+|NaN|[+-]Inf))$/,
      );
    const key = await box.newKey('metered-tenant');
    await box.push(shellSkill('metered-skill'), key);
    const record = await box.run('metered-skill', { env: { RUN: 'exit 1' } }, key);
    await box.request('/v1/no/such/path');
    const after = await read();
    const grown = (line: string) => value(after, line) - value(before, line);
    expect(grown('skillbox_executions_total{status="failed",lang="bash"}')).toBe(1);
    expect(grown('skillbox_http_requests_total{method="POST",route="/v1/executions",status="200"}')).toBe(1);
    expect(grown('skillbox_http_requests_total{method="GET",route="unmatched",status="404"}')).toBe(1);
    expect(grown('skillbox_http_request_seconds_count{route="/v1/executions"}')).toBe(1);
    for (const name of ['metered-tenant', 'metered-skill', record.execution_id]) expect(after).not.toContain(name);
  });
});

describe('methods', () => {
  it('405 with Allow where there is a path, 404 where there is none', async () => {
    for (const { path, method, allow } of [
      { path: '/v1/skills', method: 'PATCH', allow: 'POST, GET, HEAD, OPTIONS' },
      { path: '/v1/executions/x/cancel', method: 'GET', allow: 'POST, OPTIONS' },
      { path: '/v1/skills/a/1.0.0', method: 'POST', allow: 'GET, DELETE, HEAD, OPTIONS' },
      { path: '/health', method: 'POST', allow: 'GET, HEAD, OPTIONS' },
      { path: '/livez', method: 'DELETE', allow: 'GET, HEAD, OPTIONS' },
      { path: '/openapi.json', method: 'PUT', allow: 'GET, HEAD, OPTIONS' },
    ]) {
      const answer = await box.json(path, { method });
      expect(answer).toMatchObject({ status: 405, body: { error: 'method_not_allowed' } });
      expect(answer.headers.get('allow')).toBe(allow);
    }
    for (const path of ['/v1', '/v1/', '/v1/skill', '/v1/executions/', '/health/x', '/v2/skills', '/favicon.ico'])
      for (const method of ['GET', 'POST', 'DELETE'])
        expect(await box.json(path, { method })).toMatchObject({ status: 404, body: { error: 'not_found' } });
  });

  it('OPTIONS says what there is, needs no key, and opens nothing to other origins', async () => {
    const response = await box.request('/v1/executions', { method: 'OPTIONS', key: null, headers: { Origin: 'https://evil.example' } });
    expect(response.status).toBe(204);
    expect(response.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS');
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('HEAD is GET without the body, keys included, and leaves nothing open', async () => {
    expect((await box.request('/v1/skills', { method: 'HEAD', key: null })).status).toBe(401);
    const head = await box.request('/v1/skills', { method: 'HEAD' });
    expect([head.status, await head.text(), head.headers.get('content-type')]).toEqual([200, '', 'application/json']);
    const { execution_id: id } = await box.run('shell', { env: { RUN: 'head -c 900000 /dev/zero > $SANDBOX_FILES_DIR/big' } });
    const running = (await box.json<Execution>('/v1/executions', { body: { skill: 'shell', env: { RUN: 'sleep 30' }, wait: false } })).body
      .execution_id;
    const before = openFiles();
    const paths = [`/v1/executions/${id}/files/big`, `/v1/executions/${id}/files.tar.gz`, `/v1/executions/${running}/events`];
    for (let round = 0; round < 10; round += 1)
      for (const path of paths) {
        const response = await box.request(path, { method: 'HEAD' });
        expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 0]);
      }
    await until(openFiles, (count) => count <= before + 3, 3000);
    await box.json(`/v1/executions/${running}/cancel`, { method: 'POST' });
  });
});

describe('what never becomes a request is answered in JSON too', () => {
  const broken: [string, () => string, number, string][] = [
    ['no HTTP', () => 'HELLO\r\n\r\n', 400, 'bad_request'],
    ['a head that is too large', () => `GET / HTTP/1.1\r\n${hostLine()}\r\nX-Big: ${'x'.repeat(40_000)}\r\n\r\n`, 431, 'too_large'],
    ['no host', () => 'GET /livez HTTP/1.1\r\n\r\n', 400, 'bad_request'],
    ['a host that is none', () => 'GET /livez HTTP/1.1\r\nHost: a b<>\r\n\r\n', 400, 'bad_request'],
    ['a backslash in the path', () => `GET /v1\\skills HTTP/1.1\r\n${hostLine()}\r\n\r\n`, 400, 'bad_request'],
    [
      'two lengths',
      () => `POST /v1/executions HTTP/1.1\r\n${hostLine()}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_request',
    ],
    ['a path with bytes of its own', () => `GET /\u0001 HTTP/1.1\r\n${hostLine()}\r\n\r\n`, 400, 'bad_request'],
  ];
  it.each(broken)('%s', async (_what, bytes, status, error) => {
    const { body, headers, ...answer } = parseAnswer(await rawExchange(box.url, bytes()));
    expect(answer.status).toBe(status);
    const parsed = JSON.parse(body) as Record<string, string>;
    expect(parsed).toMatchObject({ error, message: expect.any(String), hint: expect.any(String) });
    expect(parsed.request_id).toBe(headers['x-request-id']);
  });

  it('an expectation it does not know is ignored', async () => {
    const answer = await rawExchange(box.url, `GET /livez HTTP/1.1\r\n${hostLine()}\r\nExpect: pancakes\r\nConnection: close\r\n\r\n`);
    expect(parseAnswer(answer)).toMatchObject({ status: 200, body: 'ok\n' });
  });
});

describe('bodies', () => {
  it('that are too large are answered while they still come, announced or not, and the box goes on', async () => {
    const big = Buffer.alloc(3 * 1024 * 1024, 'x');
    const headers = { Authorization: `Bearer ${box.key}`, 'Content-Type': 'application/zip' };
    for (let round = 0; round < 3; round += 1) {
      const announced = await fetch(`${box.url}/v1/skills`, { method: 'POST', headers, body: big });
      expect([announced.status, ((await announced.json()) as { error: string }).error]).toEqual([413, 'too_large']);
      const chunks = new ReadableStream({
        start(controller) {
          for (let at = 0; at < big.length; at += 65_536) controller.enqueue(new Uint8Array(big.subarray(at, at + 65_536)));
          controller.close();
        },
      });
      const streamed = await fetch(`${box.url}/v1/skills`, { method: 'POST', headers, body: chunks, duplex: 'half' } as RequestInit);
      expect([streamed.status, ((await streamed.json()) as { error: string }).error]).toEqual([413, 'too_large']);
    }
    expect(await box.json('/v1/executions', { body: { skill: 'shell', input: 'x'.repeat(300_000) } })).toMatchObject({ status: 413 });
    expect((await box.json('/v1/skills')).status).toBe(200);
  });

  it.each([
    ['too large', () => box.key, 413],
    ['of nobody', () => `sk-${'0'.repeat(48)}`, 401],
  ])('that are %s are answered to who sends all of it before it reads, and what follows is not heard', async (_what, key, status) => {
    const size = 64 * 2 ** 20;
    const head = `POST /v1/skills HTTP/1.1\r\n${hostLine()}\r\nAuthorization: Bearer ${key()}\r\nContent-Type: application/zip\r\nContent-Length: ${size}\r\n\r\n`;
    const next = `POST /v1/executions HTTP/1.1\r\n${hostLine()}\r\nAuthorization: Bearer ${box.key}\r\nContent-Length: 17\r\n\r\n{"skill":"shell"}`;
    const runs = async () => (await box.json<{ items: unknown[] }>('/v1/executions')).body.items.length;
    const before = await runs();
    const socket = connect(Number(new URL(box.url).port), '127.0.0.1');
    socket.pause();
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(size, 'x'), Buffer.from(next)]), () => resolve());
    });
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(await runs()).toBe(before);
  });

  it('on one connection, what follows a refused body is answered right or not at all', async () => {
    const body = 'x'.repeat(2 * 1024 * 1024);
    const first = `POST /v1/skills HTTP/1.1\r\n${hostLine()}\r\nAuthorization: Bearer ${box.key}\r\nContent-Type: application/zip\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const second = `GET /livez HTTP/1.1\r\n${hostLine()}\r\n\r\n`;
    const answers = [...(await rawExchange(box.url, first + second, 1000)).matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]);
    expect(['413', '413,200']).toContain(answers.join(','));
    // Refused without reading a byte: the same holds for a missing key.
    const unread = first.replace(/Authorization[^\r]*\r\n/, '');
    const denied = [...(await rawExchange(box.url, unread + second, 1000)).matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]);
    expect(['401', '401,200']).toContain(denied.join(','));
  });

  it('on a connection that is kept alive many requests are answered in order', async () => {
    const request = (path: string) => `GET ${path} HTTP/1.1\r\n${hostLine()}\r\nAuthorization: Bearer ${box.key}\r\n\r\n`;
    const text = await rawExchange(box.url, request('/livez') + request('/nowhere') + request('/v1/skills') + request('/livez'));
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1])).toEqual(['200', '404', '200', '200']);
  });

  it('of GET and DELETE are ignored', async () => {
    const answer = await rawExchange(
      box.url,
      `GET /livez HTTP/1.1\r\n${hostLine()}\r\nContent-Length: 5\r\n\r\nhelloGET /health HTTP/1.1\r\n${hostLine()}\r\n\r\n`,
    );
    expect([...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1])).toEqual(['200', '200']);
  });
});

describe('clients that go away', () => {
  it('in the middle of an upload leave nothing', async () => {
    const zip = await zipOf(shellSkill('half'));
    const rows = async () => (await box.box.store.database.kysely.selectFrom('skills').select('name').execute()).length;
    const before = { rows: await rows(), blobs: folderCount('blobs'), files: openFiles() };
    for (let round = 0; round < 5; round += 1) {
      const socket = connect(Number(new URL(box.url).port), '127.0.0.1');
      socket.write(
        `POST /v1/skills HTTP/1.1\r\n${hostLine()}\r\nAuthorization: Bearer ${box.key}\r\nContent-Type: application/zip\r\nContent-Length: ${zip.length}\r\n\r\n`,
      );
      socket.write(zip.subarray(0, zip.length - 10));
      await delay(30);
      socket.destroy();
    }
    await until(openFiles, (count) => count <= before.files + 2, 3000);
    expect({ rows: await rows(), blobs: folderCount('blobs') }).toEqual({ rows: before.rows, blobs: before.blobs });
    const metrics = await (await box.request('/metrics')).text();
    expect(metrics).not.toMatch(/status="5\d\d"/);
  });

  it('while they wait for a run do not end it, and its record is whole', async () => {
    const controller = new AbortController();
    const waiting = box.request('/v1/executions', {
      body: { skill: 'shell', env: { RUN: 'sleep 0.4; echo finished' } },
      signal: controller.signal,
    });
    const outcome = waiting.then(
      () => 'answered',
      () => 'aborted',
    );
    const { items } = await until(
      async () => (await box.json<{ items: Execution[] }>('/v1/executions?status=running')).body,
      (page) => page.items.length > 0,
    );
    controller.abort();
    expect(await outcome).toBe('aborted');
    const id = items[0]?.execution_id;
    const record = await until(
      async () => (await box.json<Execution>(`/v1/executions/${id}`)).body,
      ({ finished_at }) => finished_at !== null,
    );
    expect(record).toMatchObject({ status: 'success', logs: 'finished\n' });
    expect(box.box.executions.running).toBe(0);
  });

  it('in the middle of a stream or a download free what it held', async () => {
    const { execution_id: id } = await box.run('shell', { env: { RUN: 'head -c 30000000 /dev/urandom > $SANDBOX_FILES_DIR/big' } });
    const running = (
      await box.json<Execution>('/v1/executions', {
        body: { skill: 'shell', env: { RUN: 'while sleep 0.02; do echo x; done' }, wait: false },
      })
    ).body.execution_id;
    const before = openFiles();
    for (const path of [`/v1/executions/${id}/files/big`, `/v1/executions/${id}/files.tar.gz`, `/v1/executions/${running}/events`])
      for (let round = 0; round < 4; round += 1) {
        const controller = new AbortController();
        const response = await box.request(path, { signal: controller.signal });
        await response.body?.getReader().read();
        controller.abort();
      }
    await until(openFiles, (count) => count <= before + 2, 5000);
    await box.json(`/v1/executions/${running}/cancel`, { method: 'POST' });
  });

  it('that send slowly do not keep others waiting', async () => {
    const slow = connect(Number(new URL(box.url).port), '127.0.0.1');
    slow.write(`POST /v1/executions HTTP/1.1\r\n${hostLine()}\r\nAuthorization: Bearer ${box.key}\r\nContent-Length: 1000\r\n\r\n{`);
    expect((await box.run('shell', { env: { RUN: 'echo quick' } })).logs).toBe('quick\n');
    slow.destroy();
  });
});

describe('audit', () => {
  it('has an event for each audited command: who, what, which request, and no secret', async () => {
    const { body: made } = await box.json<{ id: string; key: string }>('/v1/keys', {
      body: { name: 'audited', tenant: 'acme' },
      headers: { 'X-Request-ID': 'req-create' },
    });
    await box.json(`/v1/keys/${made.id}`, { method: 'DELETE', headers: { 'X-Request-ID': 'req-revoke' } });
    await box.json('/v1/tenants/acme', { method: 'PUT', body: { slots: 2 }, headers: { 'X-Request-ID': 'req-set' } });
    const agent = await box.newKey('acme');
    await box.push(shellSkill('doomed'), agent);
    await box.request('/v1/skills/doomed/1.0.0', { method: 'DELETE', key: agent, headers: { 'X-Request-ID': 'req-delete' } });

    await box.json('/v1/sign-in/links', { body: {}, headers: { 'X-Request-ID': 'req-link' } });
    const change = (path: string, method: string, id: string, body: object) =>
      box.json(path, { method, body, headers: { 'X-Request-ID': id } });
    await change('/v1/templates/audited', 'PUT', 'req-apply', { description: 'Audited' });
    await change('/v1/credits/grants', 'POST', 'req-grant', { tenant: 'acme', amount: 1 });
    await change('/v1/secrets/AUDITED', 'PUT', 'req-secret', { value: 'value-of-the-audited-secret' });
    await box.request('/v1/secrets/AUDITED', { method: 'DELETE', headers: { 'X-Request-ID': 'req-secret-delete' } });
    const hook = { name: 'audited', url: 'http://localhost:9/', events: ['skill.never'] };
    await change('/v1/webhooks', 'POST', 'req-hook', hook);
    await change('/v1/webhooks/audited/test', 'POST', 'req-hook-test', {});
    await change('/v1/webhooks/audited/retry', 'POST', 'req-hook-retry', {});
    await box.request('/v1/webhooks/audited', { method: 'DELETE', headers: { 'X-Request-ID': 'req-hook-delete' } });
    await change('/v1/host/canary', 'POST', 'req-canary', {});
    await change('/v1/host/reap', 'POST', 'req-reap', { dry_run: true });

    const changes: Record<string, [path: string, body: Record<string, unknown>]> = {
      sync: ['sync', { dry_run: true }],
      bootstrap: ['bootstrap', { dry_run: true }],
      up: ['up', { dry_run: true }],
      restart: ['restart', { dry_run: true }],
      context: ['context', { dry_run: true }],
      focus: ['focus', { client_id: 'acme' }],
      down: ['down', { service: 'web' }],
      'pulse.start': ['pulse/start', { interval: 60 }],
      'pulse.stop': ['pulse/stop', {}],
    };
    for (const [name, [path, given]] of Object.entries(changes)) await change(`/v1/runtime/${path}`, 'POST', `req-${name}`, given);
    const began = await change('/v1/runtime/sessions', 'POST', 'req-session.start', { client_id: 'acme' });
    const session = String((began.body as { session_id?: string }).session_id);
    const steps = { event: { message: 'noted' }, heartbeat: {}, end: {}, resume: {} };
    for (const [verb, given] of Object.entries(steps))
      await change(`/v1/runtime/sessions/${session}/${verb === 'event' ? 'events' : verb}`, 'POST', `req-session.${verb}`, given);

    const { body } = await box.json<{ items: BoxEvent[] }>('/v1/events?type=audit.&limit=100');
    const byRequest = (id: string) => body.items.filter(({ data }) => data.request_id === id);
    const admin = (await box.json<{ items: { id: string; name: string }[] }>('/v1/keys?limit=500')).body.items.find(
      ({ name }) => name === 'local administrator',
    );
    const expected: Record<string, [string, object]> = {
      'key.create': [
        'req-create',
        {
          actor: { kind: 'adm', id: admin?.id },
          subject: { type: 'key', id: made.id },
          data: { input: { name: 'audited', tenant: 'acme' } },
        },
      ],
      'signin.link': ['req-link', { actor: { kind: 'adm', id: admin?.id }, data: { input: {} } }],
      'template.apply': ['req-apply', { data: { input: { name: 'audited', description: 'Audited' } } }],
      'credits.grant': ['req-grant', { data: { input: { tenant: 'acme', amount: 1 } } }],
      'secret.set': ['req-secret', { subject: { type: 'secret', id: 'AUDITED' }, data: { input: { name: 'AUDITED' } } }],
      'secret.delete': ['req-secret-delete', { subject: { type: 'secret', id: 'AUDITED' }, data: { input: { name: 'AUDITED' } } }],
      'webhook.create': ['req-hook', { subject: { type: 'webhook', id: 'audited' }, data: { input: hook } }],
      'webhook.test': ['req-hook-test', { data: { input: { name: 'audited' } } }],
      'webhook.retry': ['req-hook-retry', { data: { input: { name: 'audited' } } }],
      'webhook.delete': ['req-hook-delete', { data: { input: { name: 'audited' } } }],
      'host.canary': ['req-canary', {}],
      'host.reap': ['req-reap', { data: { input: { dry_run: true } } }],
      'key.revoke': ['req-revoke', { actor: { kind: 'adm', id: admin?.id }, subject: { type: 'key', id: made.id } }],
      'tenant.set': ['req-set', { subject: { type: 'tenant', id: 'acme' }, data: { input: { slots: 2 } } }],
      'skill.delete': [
        'req-delete',
        { tenant: 'acme', actor: { kind: 'agt' }, subject: { type: 'skill' }, data: { input: { name: 'doomed', version: '1.0.0' } } },
      ],
    };
    for (const [name, [, given]] of Object.entries(changes)) expected[name] = [`req-${name}`, { data: { input: given } }];
    for (const verb of ['start', ...Object.keys(steps)])
      expected[`session.${verb}`] = [`req-session.${verb}`, { subject: { type: 'session' }, actor: { kind: 'adm', id: admin?.id } }];
    expect(Object.keys(expected).sort()).toEqual(
      commands
        .filter(({ audited }) => audited)
        .map(({ name }) => name)
        .sort(),
    );
    for (const [name, [request, event]] of Object.entries(expected))
      expect(byRequest(request)).toMatchObject([{ type: `audit.${name}`, host: box.box.host, ...event }]);
    expect(JSON.stringify(body)).not.toContain(made.key.slice(3));
    expect(JSON.stringify(body)).not.toContain('value-of-the-audited-secret');
  });

  it('is read page by page, and only with cursors that the box made', async () => {
    const all = (await box.json<{ items: BoxEvent[] }>('/v1/events?limit=500')).body.items.map(({ seq }) => seq);
    const paged: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body }: { body: { items: BoxEvent[]; next_cursor: string | null } } = await box.json(
        `/v1/events?limit=7${cursor && `&cursor=${cursor}`}`,
      );
      paged.push(...body.items.map(({ seq }) => seq));
      cursor = body.next_cursor;
    }
    expect(paged).toEqual(all);
    for (const made of ['abc', '', '-1', '1e3', '1.5', '9'.repeat(30)]) {
      const forged = Buffer.from(JSON.stringify([made])).toString('base64url');
      expect(await box.json(`/v1/events?cursor=${forged}`)).toMatchObject({ status: 400, body: { error: 'invalid_cursor' } });
    }
    expect(await box.json('/v1/events?type=%00')).toMatchObject({ status: 400, body: { error: 'bad_request' } });
  });

  it('has none for an act that was refused', async () => {
    const count = async () => (await box.box.events.list({ typePrefix: 'audit.', limit: 500 })).length;
    const before = await count();
    const agent = await box.newKey('acme');
    await box.json('/v1/keys', { body: { name: 'x' }, key: agent });
    await box.json('/v1/keys/key_0000000000000000', { method: 'DELETE' });
    await box.json('/v1/skills/absent/1.0.0', { method: 'DELETE' });
    expect(await count()).toBe(before + 1);
  });
});

describe('the log', () => {
  it('has one structured line for each request, with its id, and no secret', async () => {
    const lines: Record<string, unknown>[] = [];
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        for (const line of chunk.toString().split('\n').filter(Boolean)) lines.push(JSON.parse(line) as Record<string, unknown>);
        done();
      },
    });
    const stateRoot = `${box.stateRoot}/second`;
    const { mkdirSync } = await import('node:fs');
    mkdirSync(stateRoot);
    const config = loadConfig({ cwd: stateRoot, env: { SKILLBOX_API_PORT: '0', SKILLBOX_STATE_ROOT: stateRoot, SKILLBOX_STANDBY: '0' } });
    const server = await startServer(config, pino({ level: 'info' }, sink));
    try {
      const key = readFileSync(join(stateRoot, 'admin.key'), 'utf8').trim();
      const send = (path: string, id: string, more: RequestInit = {}) =>
        fetch(server.url + path, { ...more, headers: { Authorization: `Bearer ${key}`, 'X-Request-ID': id } });
      await send('/v1/skills', 'log-1');
      await send('/v1/executions/00000000-0000-4000-8000-000000000000/logs?x=hush', 'log-2');
      await send('/v1/executions', 'log-3', { method: 'POST', body: '{"skill":"absent","env":{"TOKEN":"hush"}}' });
      await send('/nowhere/hush', 'log-4');
      const requests = lines.filter(({ msg }) => msg === 'request');
      expect(requests).toMatchObject([
        { request_id: 'log-1', method: 'GET', route: '/v1/skills', status: 200, ms: expect.any(Number) },
        { request_id: 'log-2', method: 'GET', route: '/v1/executions/:id/logs', status: 400 },
        { request_id: 'log-3', method: 'POST', route: '/v1/executions', status: 404 },
        { request_id: 'log-4', method: 'GET', route: 'unmatched', status: 404 },
      ]);
      const text = JSON.stringify(lines);
      expect(text).not.toContain(key);
      expect(text).not.toContain('hush');
    } finally {
      await server.stop();
    }
  });
});
