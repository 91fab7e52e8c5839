/** Requests that lie about where they begin, end or go, and an inside that asks for too much at once. */

import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EgressBox, startEcho, startEgressBox, startTarget, type Target } from '../support/egress.ts';
import { slowestAnswer } from './inside.ts';

let egress: EgressBox;
let target: Target;
let other: Target;
let echo: Target;
let one: Sandbox;
/** Of the allowed server, as it stands in a Host header. */
let host: string;

let atOnce = 0;
let mostAtOnce = 0;

beforeAll(async () => {
  target = await startTarget((request, response) => {
    if (request.url === '/split') {
      request.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n');
      return;
    }
    if (request.url === '/slow') {
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      setTimeout(() => {
        atOnce -= 1;
        response.end('slow');
      }, 100);
      return;
    }
    request.resume();
    response.setHeader('Connection', 'close, X-Hop');
    response.setHeader('X-Hop', '1');
    response.setHeader('X-Kept', '1');
    response.end('hello');
  });
  other = await startTarget();
  echo = await startEcho();
  egress = await startEgressBox('ok.test,other.test,echo.test');
  for (const name of ['ok.test', 'other.test', 'echo.test']) egress.dns.set(name, ['127.0.0.1']);
  host = `ok.test:${target.port}`;
  one = await egress.sandbox([
    host,
    `echo.test:${echo.port}`,
    { host: 'other.test', ports: [other.port], methods: ['GET'], paths: ['/open/*'] },
  ]);
});
afterAll(async () => {
  await egress.stop();
  await target.stop();
  await other.stop();
  await echo.stop();
});

it('decides each request on a connection by itself', async () => {
  const before = other.reached;
  const said = await egress.python<string>(
    one.id,
    `
first = "GET http://${host}/first HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n"
second = "GET http://other.test:${other.port}/closed HTTP/1.1\\r\\nHost: other.test:${other.port}\\r\\n\\r\\n"
third = "GET http://${host}/third HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n"
answer([talk(first + second + third), talk(first, second, third)])`,
  );
  for (const text of said) expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403']);
  expect(other.reached).toBe(before);
  expect(target.seen.filter(({ url }) => url === '/third')).toEqual([]);
});

it('serves one request of a connection at a time, and few that wait', async () => {
  const said = await egress.python<number[]>(
    one.id,
    `
request = "GET http://${host}/slow HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n"
answer([talk(request * 3, wait=4).count("HTTP/1.1 200"), talk(request * 200, wait=4).count("HTTP/1.1 200")])`,
  );
  expect(said[0]).toBe(3);
  expect(said[1]).toBeLessThan(20);
  expect(mostAtOnce).toBe(1);
});

it('holds a rule to its method and path, whatever the path is made to look like', async () => {
  const before = other.seen.length;
  const paths = [
    '/open/a',
    '/open/../closed',
    '/open/%2e%2e/closed',
    '/open/..%2fclosed',
    '/open/..;/closed',
    '/open//closed',
    '//open/a',
    '/closed',
    '/OPEN/a',
  ];
  const answers = await egress.python<number[]>(
    one.id,
    `
def ask(path, method="GET"): return status(get("http://other.test:${other.port}" + path, "other.test:${other.port}", method=method))
answer([ask(path) for path in ${JSON.stringify(paths)}] + [ask("/open/a", "POST"), ask("/open/a", "DELETE"), status(get("other.test:${other.port}", None, method="CONNECT"))])`,
  );
  expect(answers).toEqual([200, ...Array(answers.length - 1).fill(403)]);
  expect(other.seen.slice(before).map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /open/a']);
});

it('takes one host for one request', async () => {
  const answers = await egress.python<number[]>(
    one.id,
    `
target = "http://${host}/"
answer([status(text) for text in (
    get(target, "other.test:${other.port}"), get(target, "ok.test"), get(target, "ok.test:1"), get(target, "${host}", "Host: other.test\\r\\n"),
    get(target, "${host}", "Host: ${host}\\r\\n"), get(target), get(target, ""), get("/", "${host}"), get("/", "other.test"), get("*", "${host}", method="OPTIONS"),
    get("https://${host}/", "${host}"), get("ftp://${host}/", "${host}"), get("//${host}/", "${host}"), get("${host}", "other.test", method="CONNECT"),
    get("${host}", "${host}", "Host: other.test\\r\\n", method="CONNECT"), get("http://${host}/", "${host}", method="CONNECT"))])`,
  );
  expect(answers).toEqual(answers.map(() => 400));
});

it('lets no second request through behind the first', async () => {
  const before = target.seen.length;
  const inner = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
  const start = `POST http://${host}/a HTTP/1.1\r\nHost: ${host}\r\n`;
  const heads = [
    `${start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    `${start}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${inner}`,
    `${start}Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    `${start}Content-Length: 0, ${inner.length}\r\n\r\n${inner}`,
    `${start}Content-Length: +${inner.length}\r\n\r\n${inner}`,
    `${start}Content-Length : 0\r\n\r\n${inner}`,
    `${start}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`,
    `${start}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
    `${start}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    `${start}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${inner}`,
    `${start}X: a\r\n b\r\n\r\n${inner}`,
    `${start}X: a\rTransfer-Encoding: chunked\r\n\r\n${inner}`,
    `${start}X: a\0b\r\n\r\n${inner}`,
    `GET http://${host}/a HTTP/1.1\nHost: ${host}\n\n${inner}`,
    `GET http://${host}/a%20HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET http://${host}/a HTTP/1.1 x\r\nHost: ${host}\r\n\r\n`,
    `GET http://${host}/a HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
  ];
  const answers = await egress.python<string[]>(
    one.id,
    `answer([talk(head, wait=2) for head in json.loads(${JSON.stringify(JSON.stringify(heads))})])`,
  );
  for (const [index, text] of answers.entries()) expect(text, heads[index]).toMatch(/^HTTP\/1\.1 400 [^\n]*\r\n((?!HTTP\/1\.1).)*$/s);
  expect(target.seen.slice(before).map(({ url }) => url)).toEqual([]);
});

it('passes on what is for the server, and nothing that is for one hop', async () => {
  const said = await egress.python<string>(
    one.id,
    `answer(get("http://${host}/hop", "${host}", "Proxy-Authorization: Basic eA==\\r\\nX-Mine: 1\\r\\nX-Named: 1\\r\\nTE: trailers\\r\\nUpgrade: websocket\\r\\nProxy-Connection: keep-alive\\r\\nKeep-Alive: 5\\r\\nConnection: X-Named, upgrade\\r\\n"))`,
  );
  expect(target.seen.at(-1)?.headers).toEqual({ host, 'x-mine': '1', connection: 'close' });
  expect(said).toMatch(/X-Kept: 1/i);
  expect(said).not.toMatch(/X-Hop/i);
});

it('passes on no answer that could be read in two ways', async () => {
  expect(await egress.python(one.id, `answer(status(get("http://${host}/split", "${host}")))`)).toBe(502);
});

it('reads no head without end, and waits for none for ever', { timeout: 60_000 }, async () => {
  const { result, slowestMs } = await slowestAnswer(
    egress.box,
    egress.python<[number, number, boolean]>(
      one.id,
      `
large = status(talk("GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\nX: " + "a" * 20000000 + "\\r\\n\\r\\n"))
many = status(talk("GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\n" + "X: a\\r\\n" * 20000 + "\\r\\n"))
s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(24); began = time.time()
s.sendall(b"GET http://${host}/ HTTP/1.1\\r\\n")
try: s.recv(1000)
except OSError: pass
answer([large, many, time.time() - began < 23])`,
    ),
  );
  expect(result).toEqual([431, 431, true]);
  expect(slowestMs).toBeLessThan(2000);
});

it('tells a client that still sends why it is refused, and reads no body without end', { timeout: 60_000 }, async () => {
  const told = await egress.python<{ plain: string; late: boolean }>(
    one.id,
    `
import urllib.request, urllib.error
try: plain = urllib.request.urlopen("http://refused.test/", data=b"x" * 30_000_000, timeout=20).status
except urllib.error.HTTPError as error: plain = str(error.code) + json.load(error)["error"]
except OSError as error: plain = repr(error)
head = "POST http://refused.test/ HTTP/1.1\\r\\nHost: refused.test\\r\\nContent-Length: 100000000000\\r\\n\\r\\n"
s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(20); began = time.time()
try:
    s.sendall(head.encode())
    while time.time() - began < 20: s.sendall(b"x" * 1000000)
except OSError: pass
answer({"plain": plain, "late": time.time() - began >= 20})`,
  );
  expect(told).toEqual({ plain: '403egress_not_allowed', late: false });
});

it('holds a bounded number of connections, and leaves other sandboxes theirs', { timeout: 60_000 }, async () => {
  const another = await egress.sandbox([host]);
  const { result: held, slowestMs } = await slowestAnswer(
    egress.box,
    egress.python<{ alive: number; through: number }>(
      one.id,
      `
import resource
def fill(connect):
    sockets = []
    for _ in range(600):
        s = connect()
        if s: sockets.append(s)
    time.sleep(1.5)
    alive = 0
    for s in sockets:
        s.setblocking(False)
        try: alive += s.recv(1) != b""
        except BlockingIOError: alive += 1
        except OSError: pass
    for s in sockets: s.close()
    return alive
def box():
    s = socket.socket(socket.AF_UNIX); s.settimeout(2)
    try: s.connect("/.skillbox/box/box.sock")
    except OSError: return None
    return s
def relay():
    try: return socket.create_connection(("127.0.0.1", 3128), 2)
    except OSError: return None
direct = fill(box)
time.sleep(1)
through = fill(relay)
time.sleep(1)
answer({"direct": direct, "through": through, "after": status(get("http://${host}/", "${host}"))})`,
    ),
  );
  expect(held).toMatchObject({ direct: 256, after: 200 });
  expect((held as unknown as { through: number }).through).toBeLessThanOrEqual(256);
  expect(slowestMs).toBeLessThan(3000);
  expect(await egress.python(another.id, `answer(status(get("http://${host}/", "${host}")))`)).toBe(200);
});

it('writes a bounded record of a flood, and counts the rest', { timeout: 90_000 }, async () => {
  const flooding = await egress.sandbox([host]);
  const { result, slowestMs } = await slowestAnswer(
    egress.box,
    egress.python<[number, number]>(
      flooding.id,
      `
import threading
sent, began, lock = 0, time.time(), threading.Lock()
def flood():
    global sent
    while time.time() < began + 18:
        with lock:
            if sent == 1500: return
            sent += 1
        s = socket.socket(socket.AF_UNIX); s.connect("/.skillbox/box/box.sock")
        s.sendall(b"GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
        while s.recv(65536): pass
        s.close()
threads = [threading.Thread(target=flood) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
answer([sent, time.time() - began])`,
    ),
  );
  const [sent, seconds] = result;
  expect(sent).toBeGreaterThan(400 + 10 * seconds + 100);
  expect(slowestMs).toBeLessThan(3000);
  await expect
    .poll(async () => (await egress.decisions(flooding.id)).some(({ type }) => type === 'sandbox.egress_more'), { timeout: 20_000 })
    .toBe(true);
  const count = async () => {
    const events = await egress.decisions(flooding.id);
    const written = events.filter(({ type }) => type === 'sandbox.egress_refused').length;
    const counted = events.filter(({ type }) => type === 'sandbox.egress_more').reduce((sum, { data }) => sum + Number(data.refused), 0);
    return { written, all: written + counted };
  };
  await expect.poll(async () => (await count()).all, { timeout: 20_000 }).toBe(sent);
  expect((await count()).written).toBeLessThanOrEqual(400 + 10 * (seconds + 1));
});
