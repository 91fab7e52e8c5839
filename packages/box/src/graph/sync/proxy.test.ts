import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type GraphGround, newGround } from '../../../../../tests/support/graph.ts';
import { makeAuthority, makeLeaf } from '../../sandbox/egress/certificate.ts';
import { download, downloadLimits } from './download.ts';
import { proxyFor } from './proxy.ts';

describe('the proxy for an address', () => {
  const proxied = (url: string, env: Record<string, string>): string | undefined => proxyFor(new URL(url), env)?.href;
  const both = { HTTP_PROXY: 'http://plain:1', HTTPS_PROXY: 'http://tls:2' };

  it.each<[string, Record<string, string>, string | undefined]>([
    ['http://example.org/a', both, 'http://plain:1/'],
    ['https://example.org/a', both, 'http://tls:2/'],
    ['https://example.org/a', { HTTP_PROXY: 'http://plain:1' }, undefined],
    ['https://example.org/a', { ALL_PROXY: 'https://all:3' }, 'https://all:3/'],
    ['http://example.org/a', { ...both, http_proxy: 'http://small:4' }, 'http://small:4/'],
    ['http://example.org/a', { HTTP_PROXY: 'plain:8080' }, 'http://plain:8080/'],
    ['http://example.org/a', { HTTP_PROXY: '' }, undefined],
    ['http://example.org/a', { ...both, NO_PROXY: '*' }, undefined],
    ['http://example.org/a', { ...both, NO_PROXY: 'other.org, example.org' }, undefined],
    ['http://sub.example.org/a', { ...both, no_proxy: '.example.org' }, undefined],
    ['http://sub.example.org/a', { ...both, NO_PROXY: 'example.org' }, undefined],
    ['http://badexample.org/a', { ...both, NO_PROXY: 'example.org' }, 'http://plain:1/'],
    ['http://example.org/a', { ...both, NO_PROXY: 'sub.example.org' }, 'http://plain:1/'],
    ['http://example.org:8080/a', { ...both, NO_PROXY: 'example.org:8080' }, undefined],
    ['http://example.org/a', { ...both, NO_PROXY: 'example.org:8080' }, 'http://plain:1/'],
    ['https://example.org/a', { ...both, NO_PROXY: 'example.org:443' }, undefined],
    ['http://127.0.0.1:9/a', { ...both, NO_PROXY: 'localhost,127.0.0.1' }, undefined],
    ['http://[::1]:9/a', { ...both, NO_PROXY: '::1' }, undefined],
    ['http://[::1]:9/a', { ...both, NO_PROXY: '[::1]:8' }, 'http://plain:1/'],
  ])('%s with %j is %s', (url, env, wanted) => expect(proxied(url, env)).toBe(wanted));

  it('is refused when it speaks something else, without its password', () => {
    expect(() => proxied('http://example.org', { HTTP_PROXY: 'socks5://me:secret@proxy:1080' })).toThrow(
      expect.objectContaining({
        code: 'sync_failed',
        message: expect.not.stringContaining('secret'),
        hint: expect.stringContaining('NO_PROXY'),
      }),
    );
  });
});

describe('downloads through a proxy', () => {
  let ground: GraphGround;
  let asked: string[];
  let servers: Server[];
  let proxy: string;
  beforeEach(async () => {
    ground = newGround();
    asked = [];
    servers = [];
    proxy = await started(createProxy(asked));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    ground.remove();
  });

  async function started(server: Server): Promise<string> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const answer = (_: IncomingMessage, response: ServerResponse): void => void response.end('the artifact');
  async function fetched(url: string): Promise<string> {
    const file = join(ground.folder, 'into');
    const fd = openSync(file, 'w');
    try {
      await download(url, fd, { limits: downloadLimits, signal: ground.runtime.signal, onProgress: () => undefined });
    } finally {
      closeSync(fd);
    }
    return readFileSync(file, 'utf8');
  }

  it('http: the proxy is asked for the whole address, with its own password', async () => {
    const host = await started(createServer(answer));
    vi.stubEnv('http_proxy', `http://me:pass%20word@${proxy}`);
    expect(await fetched(`http://${host}/a?b=c`)).toBe('the artifact');
    expect(asked).toEqual([`GET http://${host}/a?b=c Basic ${Buffer.from('me:pass word').toString('base64')}`]);
    vi.stubEnv('no_proxy', '127.0.0.1');
    expect(await fetched(`http://${host}/a`)).toBe('the artifact');
    expect(asked).toHaveLength(1);
  });

  it('https: through a tunnel, in which the certificate counts as ever', async () => {
    const period = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 600_000) };
    const leaf = makeLeaf('127.0.0.1', makeAuthority('a test', period), period);
    const host = await started(createTlsServer({ key: leaf.key, cert: leaf.certificate }, answer));
    vi.stubEnv('https_proxy', proxy);
    await expect(fetched(`https://${host}/a`)).rejects.toThrow(/could not be fetched: .*certificate/);
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    expect(await fetched(`https://${host}/a`)).toBe('the artifact');
    expect(asked).toEqual([`CONNECT ${host} undefined`, `CONNECT ${host} undefined`]);
  });

  it('says when the proxy refuses, or is not there', async () => {
    vi.stubEnv('https_proxy', proxy);
    await expect(fetched('https://forbidden.example/a')).rejects.toThrow(`the proxy ${proxy} answers 403`);
    vi.stubEnv('https_proxy', 'http://127.0.0.1:9');
    await expect(fetched('https://example.org/a')).rejects.toThrow(/the proxy 127\.0\.0\.1:9: connect ECONNREFUSED/);
  });
});

/** Forwards to loopback only. */
function createProxy(asked: string[]): Server {
  const note = ({ headers, method, url }: IncomingMessage): void => void asked.push(`${method} ${url} ${headers['proxy-authorization']}`);
  const server = createServer((request, response) => {
    note(request);
    const { 'proxy-authorization': _, ...headers } = request.headers;
    httpRequest(request.url ?? '', { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    }).end();
  });
  return server.on('connect', (request: IncomingMessage, socket: Socket) => {
    note(request);
    const [name, port] = (request.url ?? '').split(':');
    if (name !== '127.0.0.1') return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const there = connect(Number(port), name, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      there.pipe(socket).pipe(there);
    });
    for (const [one, other] of [
      [there, socket],
      [socket, there],
    ] as const)
      one.on('error', () => other.destroy());
    return socket;
  });
}
