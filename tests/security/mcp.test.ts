/** What crosses /mcp: sessions of another key, pages of another origin, and messages no client would send. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { modernRequest, openSession } from '../support/mcp.ts';

let box: TestBox;
let key: string;
let strange: string;
const hello = {
  'SKILL.md': '---\nname: hello\nversion: 1.0.0\ndescription: Says hello.\nlang: bash\n---\nRun it.\n',
  'main.sh': 'echo hello > "$SANDBOX_FILES_DIR/secret.txt"\n',
};

beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_MAX_REQUEST_SIZE: '256KB' });
  key = await box.newKey('acme');
  strange = await box.newKey('strange');
  await box.push(hello, key);
});

afterAll(() => box.stop());

interface Answer {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}
const ask = (method: string, params = {}, headers: Record<string, string> = {}, as: string | null = key) => {
  const request = modernRequest(method, params);
  return box.json<Answer>('/mcp', { key: as, body: request.body, headers: { ...request.headers, ...headers } });
};

describe('sessions', () => {
  it('of another key are not there: neither to ask in, nor to listen to, nor to end', async () => {
    const id = await openSession(box, key);
    const headers = { 'Mcp-Session-Id': id };
    const sameTenant = await box.newKey('acme');
    for (const other of [strange, sameTenant, box.key]) {
      const ping = await box.json<Answer>('/mcp', { key: other, headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
      expect(ping.status).toBe(404);
      expect(JSON.stringify(ping.body)).not.toContain(id);
      const stream = await box.json('/mcp', { key: other, headers: { ...headers, Accept: 'text/event-stream' } });
      expect(stream.status).toBe(404);
      expect((await box.json('/mcp', { key: other, method: 'DELETE', headers })).status).toBe(404);
    }
    expect((await box.json('/mcp', { key, headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } })).status).toBe(200);
    // An administrator who acts for another tenant is another owner, too.
    const own = await openSession(box, box.key);
    const acting = { 'Mcp-Session-Id': own, 'X-Tenant-ID': 'strange' };
    expect((await box.json('/mcp', { headers: acting, body: { jsonrpc: '2.0', id: 1, method: 'ping' } })).status).toBe(404);
  });

  it('of a key that was revoked cannot be used any more', async () => {
    const { body } = await box.json<{ id: string; key: string }>('/v1/keys', {
      body: { name: 'short', tenant: 'acme', scopes: ['skills:read'] },
    });
    const id = await openSession(box, body.key);
    await box.json(`/v1/keys/${body.id}`, { method: 'DELETE' });
    const ping = { key: body.key, headers: { 'Mcp-Session-Id': id }, body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
    expect((await box.json('/mcp', ping)).status).toBe(401);
  });

  it('that were never opened are refused as such', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await box.json('/mcp', { body })).status).toBe(400);
    expect((await box.json('/mcp', { body, headers: { 'Mcp-Session-Id': randomUUID() } })).status).toBe(404);
  });
});

describe('tenants', () => {
  it('see nothing of each other: neither tools, nor files of runs, nor instructions', async () => {
    const ran = await ask('tools/call', { name: 'skill_hello', arguments: {} });
    const [, link] = (ran.body.result?.content ?? []) as { uri: string }[];
    expect(link?.uri).toMatch(/^skillbox:\/\/executions\/.*secret\.txt$/);
    expect((await ask('resources/read', { uri: link?.uri })).body.result?.contents).toHaveLength(1);
    expect((await ask('resources/read', { uri: link?.uri }, {}, strange)).body.error).toMatchObject({ code: -32602 });
    expect((await ask('resources/read', { uri: 'skillbox://skills/hello' }, {}, strange)).body.error).toMatchObject({ code: -32602 });
    expect((await ask('tools/call', { name: 'skill_hello', arguments: {} }, {}, strange)).body.error).toMatchObject({ code: -32602 });
    expect(JSON.stringify((await ask('tools/list', {}, {}, strange)).body)).not.toContain('skill_hello');
  });

  it('and need a key at all', async () => {
    expect((await ask('tools/list', {}, {}, null)).status).toBe(401);
    expect((await ask('server/discover', {}, {}, 'sk-000000000000000000000000000000000000000000000000')).status).toBe(401);
  });
});

describe('origins', () => {
  it.each([
    'http://evil.example',
    'null',
    'http://evil.example:8080',
    'http://localhost.evil.example',
    'https://127.0.0.1',
    'http://127.0.0.1:1',
    'file://',
  ])('%s may not speak to the box', async (origin) => {
    const { status, body } = await ask('tools/list', {}, { Origin: origin });
    expect(status).toBe(403);
    expect(body.error?.data).toMatchObject({ error: 'forbidden' });
    expect((await box.json('/mcp', { key, headers: { Origin: origin, Accept: 'text/event-stream', 'Mcp-Session-Id': 'x' } })).status).toBe(
      403,
    );
  });

  it('a name that was led here by DNS is no origin of the box, whatever Host says', async () => {
    const { hostname, port } = new URL(box.url);
    const { request } = await import('node:http');
    const message = modernRequest('tools/list');
    const status = await new Promise<number>((resolve, reject) => {
      const headers = {
        ...{ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...message.headers },
        ...{ Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` },
      };
      const outgoing = request({ hostname, port, path: '/mcp', method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      outgoing.on('error', reject);
      outgoing.end(JSON.stringify(message.body));
    });
    expect(status).toBe(403);
  });

  it('pages of the box itself may', async () => {
    expect((await ask('tools/list', {}, { Origin: box.url })).status).toBe(200);
  });
});

describe('messages', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    box.json<Answer>('/mcp', { key, body, headers: { 'Content-Type': 'application/json', ...headers } });

  it.each([
    ['no JSON', '{"jsonrpc":', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['params as a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600],
    ['a bare number', '1', -32600],
    ['nothing', '', -32700],
    ['deep nesting', `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(400)}1${'}'.repeat(400)}}`, -32700],
  ])('refuses %s', async (_what, body, code) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { code } });
    expect(answer.body).not.toHaveProperty('id');
  });

  it('refuses what is too large, of another type, or asks for another', async () => {
    expect((await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { x: 'y'.repeat(300_000) } }))).status).toBe(413);
    expect((await post('{}', { 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await post('{}', { Accept: 'text/html' })).status).toBe(406);
    expect((await box.json('/mcp', { key })).status).toBe(405);
    expect((await box.json('/mcp', { key, method: 'PUT', body: {} })).status).toBe(405);
    expect((await box.request('/mcp', { key, method: 'HEAD' })).status).toBe(405);
  });

  it('wants headers and body to say the same', async () => {
    const mismatch = { status: 400, body: { id: 1, error: { code: -32020 } } };
    expect(await ask('tools/list', {}, { 'Mcp-Method': 'tools/call' })).toMatchObject(mismatch);
    expect(await ask('tools/call', { name: 'skill_hello' }, { 'Mcp-Name': 'skill_other' })).toMatchObject(mismatch);
    expect(await ask('tools/list', {}, { 'MCP-Protocol-Version': '2025-11-25' })).toMatchObject(mismatch);
    const { headers, body } = modernRequest('tools/list');
    const { 'Mcp-Method': _method, ...without } = headers;
    expect(await box.json('/mcp', { key, body, headers: without })).toMatchObject(mismatch);
    const named = { 'Mcp-Name': `=?base64?${Buffer.from('skill_hello').toString('base64')}?=` };
    expect((await ask('tools/call', { name: 'skill_hello', arguments: {} }, named)).status).toBe(200);
  });

  it('names the revisions it has to who asks for another, and wants what a request must have', async () => {
    const { body } = modernRequest('tools/list');
    const meta = (body.params as { _meta: Record<string, unknown> })._meta;
    const post26 = (changed: Record<string, unknown>, revision = '2026-07-28') =>
      box.json<Answer>('/mcp', {
        key,
        body: { ...body, params: { _meta: changed } },
        headers: { 'MCP-Protocol-Version': revision, 'Mcp-Method': 'tools/list' },
      });
    const old = await post26({ ...meta, 'io.modelcontextprotocol/protocolVersion': '1900-01-01' }, '1900-01-01');
    expect(old).toMatchObject({ status: 400, body: { error: { code: -32022, data: { requested: '1900-01-01' } } } });
    expect(old.body.error?.data?.supported).toContain('2026-07-28');
    expect(await post26({})).toMatchObject({ status: 400, body: { error: { code: -32602 } } });
    const { 'io.modelcontextprotocol/clientCapabilities': _gone, ...less } = meta;
    expect(await post26(less)).toMatchObject({ status: 400, body: { error: { code: -32602 } } });
    const id = await openSession(box, key);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const wrong = await box.json('/mcp', { key, body: ping, headers: { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': '2020-01-01' } });
    expect(wrong.status).toBe(400);
  });

  it('does not know methods that are none', async () => {
    expect(await ask('tools/none')).toMatchObject({ status: 404, body: { id: 1, error: { code: -32601 } } });
    expect(await ask('constructor')).toMatchObject({ status: 404, body: { error: { code: -32601 } } });
    expect(await ask('ping')).toMatchObject({ status: 404, body: { error: { code: -32601 } } });
  });

  it.each(['../../etc/passwd', '%2e%2e/%2e%2e/etc/passwd', '%', 'secret.txt/../secret.txt', '/etc/passwd'])(
    'reads no file by the path %s',
    async (path) => {
      const ran = await ask('tools/call', { name: 'skill_hello', arguments: {} });
      const meta = ran.body.result?._meta as { 'skillbox/execution': { id: string } };
      const { id } = meta['skillbox/execution'];
      expect((await ask('resources/read', { uri: `skillbox://executions/${id}/files/${path}` })).body.error).toMatchObject({
        code: -32602,
      });
    },
  );
});
