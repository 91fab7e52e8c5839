/** Servers inside sandboxes, reached through a real box: bytes both ways, and nothing of the box's for the inside. */

import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startTestBox, type TestBox } from '../support/box.ts';
import { until } from './wire.ts';

let box: TestBox;
let id: string;

/** Says what it was asked; sets headers that would reach beyond its pages; echoes over WebSocket. */
const server = `
import asyncio, base64, hashlib, json
async def serve(reader, writer):
    try:
        while True:
            line = (await reader.readline()).decode('latin1').strip()
            if not line: return
            method, path, _ = line.split(' ')
            headers = {}
            while True:
                field = (await reader.readline()).decode('latin1').strip()
                if not field: break
                name, value = field.split(':', 1); headers[name.lower()] = value.strip()
            if headers.get('upgrade') == 'websocket':
                accept = base64.b64encode(hashlib.sha1((headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()).decode()
                writer.write(('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSet-Cookie: skillbox_preview=forged; Path=/\\r\\nSec-WebSocket-Accept: %s\\r\\n\\r\\n' % accept).encode())
                while True:
                    head = await reader.readexactly(2); size = head[1] & 127
                    mask = await reader.readexactly(4); data = await reader.readexactly(size)
                    if head[0] & 15 == 8: return
                    text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
                    writer.write(bytes([129, len(text)]) + text)
            body = b''
            if 'content-length' in headers: body = await reader.readexactly(int(headers['content-length']))
            elif headers.get('transfer-encoding') == 'chunked':
                while True:
                    size = int((await reader.readline()).strip(), 16); body += await reader.readexactly(size); await reader.readline()
                    if size == 0: break
            if path == '/slow':
                writer.write(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n')
                for part in (b'one', b'two'):
                    writer.write(b'3\\r\\n' + part + b'\\r\\n'); await writer.drain(); await asyncio.sleep(0.3)
                writer.write(b'0\\r\\n\\r\\n'); continue
            if path == '/away':
                writer.write(b'HTTP/1.1 302 Found\\r\\nLocation: /there\\r\\nContent-Length: 0\\r\\n\\r\\n'); continue
            if path == '/broken':
                writer.write(b'this is not HTTP'); return
            text = json.dumps({'method': method, 'path': path, 'headers': headers, 'length': len(body)}).encode()
            more = 'Set-Cookie: own=1; Path=/; Domain=example.com\\r\\nSet-Cookie: skillbox_preview=forged; Path=/\\r\\nService-Worker-Allowed: /\\r\\nClear-Site-Data: "*"\\r\\nConnection: keep-alive, X-Hop\\r\\nX-Hop: 1\\r\\nX-Own: yes\\r\\n'
            writer.write(('HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n%s\\r\\n' % (len(text), more)).encode() + text)
    finally: writer.close()
async def main():
    async with await asyncio.start_server(serve, '127.0.0.1', 8000): await asyncio.Event().wait()
asyncio.run(main())
`;

beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_PREVIEW_DOMAIN: 'box.test' });
  id = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'python' } })).body.id;
  await box.request(`/v1/sandboxes/${id}/files?path=server.py`, { method: 'PUT', body: server });
  await box.request(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'exec python3 server.py', wait: false } });
  await until(async () => (await box.request(preview('/'))).status === 200);
});
afterAll(async () => {
  await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await box.stop();
});

const preview = (path: string, port = 8000) => `/preview/${id}/${port}${path}`;

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly length: number;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** fetch would not let these headers be set. */
function raw(path: string, headers: Record<string, string>): Promise<Answer> {
  const { hostname, port } = new URL(box.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end();
  });
}

describe('with a key', () => {
  it('passes the request on, without what is the box’s', async () => {
    const headers = {
      Authorization: `Bearer ${box.key}`,
      Cookie: 'skillbox_preview=secret; own=2; skillbox_ui=s',
      'X-Tenant-ID': 'default',
      Connection: 'close, X-Private',
      'X-Private': '1',
      'X-Forwarded-For': '6.6.6.6',
      'X-Kept': 'yes',
    };
    const seen = JSON.parse((await raw(preview('/a%20b?x=1&y=%2F'), headers)).text) as Seen;
    expect(seen).toMatchObject({ method: 'GET', path: '/a%20b?x=1&y=%2F' });
    expect(seen.headers).toMatchObject({
      host: 'localhost:8000',
      cookie: 'own=2',
      'x-kept': 'yes',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': new URL(box.url).host,
      'x-forwarded-prefix': `/preview/${id}/8000`,
    });
    expect(JSON.stringify(seen)).not.toContain(box.key);
    for (const name of ['authorization', 'x-tenant-id', 'x-private']) expect(seen.headers).not.toHaveProperty(name);
  });

  it('passes the answer on, without what would reach beyond its own pages', async () => {
    const { headers } = await raw(preview('/'), { Authorization: `Bearer ${box.key}` });
    expect(headers).toMatchObject({ 'x-own': 'yes', 'set-cookie': [`own=1; Path=/preview/${id}/8000/`] });
    expect(headers['content-security-policy']).toMatch(/^sandbox /);
    expect(headers['content-security-policy']).not.toContain('allow-same-origin');
    for (const name of ['service-worker-allowed', 'clear-site-data', 'x-hop']) expect(headers).not.toHaveProperty(name);
    expect((await raw(preview('/away'), { Authorization: `Bearer ${box.key}` })).headers.location).toBe(preview('/there'));
    expect((await raw(`/preview/${id}/8000?q=1`, {})).headers.location).toBe(preview('/?q=1'));
  });

  it('streams bodies both ways', async () => {
    const { body } = await box.json<Seen>(preview('/in'), { method: 'POST', body: new Uint8Array(5_000_000) });
    expect(body).toMatchObject({ method: 'POST', length: 5_000_000 });
    const started = Date.now();
    const reader = (await box.request(preview('/slow'))).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('one');
    expect(Date.now() - started).toBeLessThan(290);
    await reader?.cancel();
  });

  it('carries a WebSocket', async () => {
    const socket = new WebSocket(box.url.replace('http', 'ws') + preview('/ws'), { headers: { Authorization: `Bearer ${box.key}` } });
    const upgrade = new Promise<IncomingHttpHeaders>((resolve) => socket.on('upgrade', (response) => resolve(response.headers)));
    const echo = new Promise((resolve, reject) => {
      socket.on('open', () => socket.send('through the box'));
      socket.on('message', (data) => resolve(String(data)));
      socket.on('error', reject);
    });
    expect(await echo).toBe('through the box');
    expect(await upgrade).not.toHaveProperty('set-cookie');
    socket.close();
  });

  it('says so when nothing listens, or what listens does not speak HTTP', async () => {
    expect(await box.json(preview('/', 8001))).toMatchObject({ status: 502, body: { error: 'nothing_listens', hint: expect.any(String) } });
    expect(await box.json(preview('/broken'))).toMatchObject({ status: 502 });
    for (const path of [`/preview/${id}/0/`, `/preview/${id}/99999/`, `/preview/${id}/x/`, '/preview/nobody/80/', '/preview'])
      expect([path, (await box.request(path, { redirect: 'manual' } as object)).status]).toEqual([path, 404]);
  });

  it('does not reach the host: a port that is open out here is closed in there', async () => {
    const outside = createServer((_request, response) => response.end('host')).listen(0, '127.0.0.1');
    await new Promise((resolve) => outside.once('listening', resolve));
    const { port } = outside.address() as AddressInfo;
    expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(200);
    expect(await box.json(preview('/', port))).toMatchObject({ status: 502, body: { error: 'nothing_listens' } });
    expect(await box.json(preview('/', Number(new URL(box.url).port)))).toMatchObject({ status: 502 });
    outside.close();
  });
});

describe('without a key', () => {
  const link = async (port = 8000) =>
    new URL((await box.json<{ url: string }>(`/v1/sandboxes/${id}/ports/${port}/link`, { method: 'POST', body: {} })).body.url);

  it('is 401, and another tenant’s key finds nothing', async () => {
    expect(await box.json(preview('/'), { key: null })).toMatchObject({ status: 401, body: { error: 'unauthorized' } });
    const key = await box.newKey('stranger', ['sandboxes:read', 'sandboxes:use']);
    expect(await box.json(preview('/'), { key })).toMatchObject({ status: 404 });
    expect(await box.json(`/v1/sandboxes/${id}/ports/8000/link`, { method: 'POST', body: {}, key })).toMatchObject({ status: 404 });
    expect(await box.json(preview('/'), { key: await box.newKey('default', ['sandboxes:read']) })).toMatchObject({ status: 403 });
  });

  it('works with a signed link, whose cookie holds for that path alone', async () => {
    const token = (await link()).searchParams.get('token') ?? '';
    const answer = await raw(preview(`/?a=1&token=${token}`), {});
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text).path).toBe('/?a=1');
    expect(answer.text).not.toContain(token);
    const cookie = answer.headers['set-cookie']?.find((line) => line.startsWith('skillbox_preview=')) ?? '';
    expect(cookie).toContain(`Path=/preview/${id}/8000/;`);
    expect(cookie).toContain('HttpOnly');
    const Cookie = cookie.split(';')[0] ?? '';
    expect((await raw(preview('/next'), { Cookie })).status).toBe(200);
    expect((await raw(preview('/next', 8001), { Cookie })).status).toBe(403);
    expect((await raw(preview('/'), { Cookie: `${Cookie}x` })).status).toBe(403);
    const other = `i${'0'.repeat(19)}`;
    expect((await raw(`/preview/${other}/8000/`, { Cookie })).status).toBe(403);
    expect((await raw('/v1/sandboxes', { Cookie })).status).toBe(401);
    const [expires, ...rest] = token.split('.');
    expect((await raw(preview(`/?token=${Number(expires) + 1}.${rest.join('.')}`), {})).status).toBe(403);
  });

  it('has a host of its own where there is a domain', async () => {
    const url = await link();
    expect(url.hostname).toBe(`8000-${id}.box.test`);
    const answer = await raw(`/deep/page${url.search}`, { Host: url.host });
    expect(JSON.parse(answer.text)).toMatchObject({ path: '/deep/page', headers: { 'x-forwarded-host': url.host } });
    expect(answer.headers).not.toHaveProperty('content-security-policy');
    expect(answer.headers['set-cookie']).toEqual(['own=1; Path=/', expect.stringContaining('; Path=/; ')]);
    expect((await raw('/v1/skills', { Host: url.host, Authorization: `Bearer ${box.key}` })).text).toContain('"path": "/v1/skills"');
    expect((await raw('/', { Host: 'odd.box.test', Authorization: `Bearer ${box.key}` })).status).toBe(404);
  });

  it('a WebSocket from a page of another site is refused', async () => {
    const token = (await link()).searchParams.get('token') ?? '';
    const status = (headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const socket = new WebSocket(box.url.replace('http', 'ws') + preview(`/ws?token=${token}`), { headers });
        socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
        socket.on('error', () => resolve(-1));
        socket.on('open', () => {
          resolve(101);
          socket.close();
        });
      });
    expect(await status({ Origin: 'https://evil.example' })).toBe(403);
    expect(await status({ Origin: box.url })).toBe(101);
    expect(await status({})).toBe(101);
  });
});
