/** Network mode allow, as its users see it: programs that know nothing of the box reach what the list names, and nothing else. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EgressBox, startEcho, startEgressBox, startTarget, type Target } from '../support/egress.ts';

let egress: EgressBox;
let target: Target;
let echo: Target;
let open: Sandbox;

beforeAll(async () => {
  target = await startTarget((request, response) => {
    if (request.url === '/sum') {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      request.on('end', () => response.end(String(bytes)));
      return;
    }
    if (request.url === '/large') {
      response.writeHead(200, { 'Content-Length': 64 * 2 ** 20 });
      const chunk = Buffer.alloc(2 ** 20, 'x');
      let left = 64;
      const more = (): void => {
        while (left > 0) {
          left -= 1;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
      return;
    }
    request.resume();
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    response.end(`${request.method} ${request.url}`);
  });
  echo = await startEcho();
  egress = await startEgressBox('api.test,echo.test,tls.test');
  egress.dns.set('api.test', ['127.0.0.1']);
  egress.dns.set('echo.test', ['127.0.0.1']);
  open = await egress.sandbox([`api.test:${target.port}`, `echo.test:${echo.port}`]);
});
afterAll(async () => {
  await egress.stop();
  await target.stop();
  await echo.stop();
});

describe('a program inside', () => {
  it('reaches a host on the list by curl, Python and a bare request, through the variables it finds', async () => {
    const url = `http://api.test:${target.port}`;
    const { stdout } = await egress.exec(
      open.id,
      `curl -s ${url}/curl?a=b; python3 -c "import urllib.request as u; print(u.urlopen('${url}/python').read().decode())"; env | grep -c -i proxy=`,
    );
    expect(stdout).toBe('GET /curl?a=bGET /python\n7\n');
    expect(target.seen.at(-1)?.headers).toMatchObject({ host: `api.test:${target.port}`, connection: 'close' });
  });

  it('sends and gets bodies of any length, in both ways of framing', async () => {
    const url = `http://api.test:${target.port}`;
    const { stdout } = await egress.exec(
      open.id,
      `head -c 20000000 /dev/zero | curl -s -H 'Expect:' --data-binary @- ${url}/sum; echo; head -c 20000000 /dev/zero | curl -s -T - ${url}/sum; echo; curl -s ${url}/large | wc -c`,
    );
    expect(stdout).toBe(`20000000\n20000000\n${64 * 2 ** 20}\n`);
  });

  it('tunnels with CONNECT, each end closing by itself', async () => {
    const said = await egress.python<string>(
      open.id,
      `
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT echo.test:${echo.port} HTTP/1.1\\r\\nHost: echo.test:${echo.port}\\r\\n\\r\\nearly ")
s.sendall(b"late")
s.shutdown(socket.SHUT_WR)
got = b""
while True:
    chunk = s.recv(65536)
    if not chunk: break
    got += chunk
answer(got.decode())`,
    );
    expect(said).toBe('HTTP/1.1 200 Connection Established\r\n\r\nearly late');
  });

  it('is told why when it is refused', async () => {
    const { stdout } = await egress.exec(
      open.id,
      `curl -s -w ' %{http_code}' http://elsewhere.test/; curl -s https://elsewhere.test/ || echo $?`,
    );
    expect(stdout).toBe(
      `{"error":"egress_not_allowed","message":"No rule of this sandbox's network allows GET elsewhere.test:80/."}\n 40356\n`,
    );
  });

  it('finds the box at box.internal', async () => {
    const { stdout } = await egress.exec(
      open.id,
      'curl -s http://box.internal/network; curl -s -w %{http_code} --noproxy "*" http://box.internal:3128/other',
    );
    expect(stdout).toContain(`{"mode":"allow","allow":["api.test:${target.port}","echo.test:${echo.port}"]}`);
    expect(stdout).toMatch(/"error":"egress_not_found".*\n404$/);
  });

  it('finds there what the template grants, and no more', async () => {
    const ask = "curl -s -w ' %{http_code}' http://box.internal/network; curl -s -w ' %{http_code}' http://api.test:1/";
    const closed = await egress.sandbox([], { network: { mode: 'allow', allow: ['api.test'], internal: [] } });
    expect((await egress.exec(closed.id, ask)).stdout).toMatch(/There is: nothing.*\n 404/);
    const told = await egress.sandbox([], { network: { mode: 'none', internal: ['network'] } });
    expect((await egress.exec(told.id, ask)).stdout).toMatch(/^\{"mode":"none","allow":\[\]\} 200.*egress_network_off.* 403$/s);
  });
});

describe('over TLS, from end to end', () => {
  it('curl, Python and git trust whom they are told to, and see the server itself', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skillbox-tls-'));
    const at = (name: string): string => join(folder, name);
    const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    run(
      'openssl',
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
      '-subj',
      '/CN=tls.test',
      '-addext',
      'subjectAltName=DNS:tls.test',
    );
    run('git', 'init', '-q', '-b', 'main', 'work');
    writeFileSync(at('work/file.txt'), 'from the repository');
    run('git', '-C', 'work', 'add', '.');
    run('git', '-C', 'work', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'one');
    run('git', 'clone', '-q', '--bare', 'work', 'repo.git');
    run('git', '-C', 'repo.git', 'update-server-info');
    const server = createServer({ key: readFileSync(at('key.pem')), cert: readFileSync(at('cert.pem')) }, (request, response) => {
      const path = at(new URL(request.url ?? '/', 'https://x').pathname.slice(1));
      if (existsSync(path) && statSync(path).isFile()) response.end(readFileSync(path));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    egress.dns.set('tls.test', ['127.0.0.1']);
    const one = await egress.sandbox([`tls.test:${port}`]);
    const cert = readFileSync(at('cert.pem'), 'utf8');
    const url = `https://tls.test:${port}/work/file.txt`;
    const { stdout, stderr } = await egress.exec(
      one.id,
      `cat > ca.pem; curl -s ${url} || echo untrusted; curl -s --cacert ca.pem ${url}; echo; SSL_CERT_FILE=ca.pem python3 -c "import urllib.request as u; print(u.urlopen('${url}').read().decode())"; GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://tls.test:${port}/repo.git && cat repo/file.txt`,
      { stdin: cert },
    );
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
    expect(`${stdout}${stderr}`).toBe('untrusted\nfrom the repository\nfrom the repository\nfrom the repository');
  });
});

describe('the record', () => {
  it('has every decision, and what was moved', async () => {
    const one = await egress.sandbox([`api.test:${target.port}`]);
    await egress.exec(
      one.id,
      `curl -s http://api.test:${target.port}/path?secret=1; curl -s http://elsewhere.test/x; curl -s https://elsewhere.test/`,
    );
    const events = await egress.decisions(one.id);
    const facts = { method: 'GET', host: 'api.test', port: target.port, path: '/path' };
    expect(events.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'sandbox.egress_allowed', data: { exchange: 1, ...facts, address: '127.0.0.1', rule: `api.test:${target.port}` } },
      {
        type: 'sandbox.egress_ended',
        data: { exchange: 1, ...facts, bytes_sent: expect.any(Number), bytes_received: expect.any(Number), ms: expect.any(Number) },
      },
      {
        type: 'sandbox.egress_refused',
        data: expect.objectContaining({ method: 'GET', host: 'elsewhere.test', port: 80, path: '/x', reason: 'not_allowed' }),
      },
      { type: 'sandbox.egress_refused', data: expect.objectContaining({ method: 'CONNECT', host: 'elsewhere.test', port: 443 }) },
    ]);
    expect(JSON.stringify(events)).not.toContain('secret');
    const metrics = await (await egress.box.request('/metrics')).text();
    expect(metrics).toMatch(/skillbox_egress_decisions_total\{decision="refused",reason="not_allowed"\} \d/);
    expect(metrics).toMatch(/skillbox_egress_bytes_total\{direction="sent"\} \d\d/);
  });
});
