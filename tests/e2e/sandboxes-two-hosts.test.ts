/** Sandboxes of a box with two hosts: everything works through either. What happens when one dies is in tests/chaos. */

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Page, Sandbox, Snapshot } from '@skillbox/protocol';
import { CommandExitError, Sandbox as E2bSandbox } from 'e2b';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { e2bEnv } from '../e2e/e2b-box.ts';
import { connect, openSession } from '../support/mcp.ts';
import { residentBytes } from '../support/memory.ts';
import { postgresFolder, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { events } from '../support/stream-events.ts';

const mebi = 2 ** 20;
const programs = postgresFolder();

interface Result {
  readonly program_id: number;
  readonly stdout: string;
  readonly exit_code: number | null;
}

describe.skipIf(!programs)('sandboxes on two hosts', () => {
  let postgres: TestPostgres;
  let env: Record<string, string>;
  let pair: [ServerProcess, ServerProcess];
  const servers: ServerProcess[] = [];

  beforeAll(async () => {
    postgres = await startPostgres(programs as string);
    env = {
      SKILLBOX_DB_DSN: await postgres.createDatabase(),
      SKILLBOX_SECRET_KEY: 'the same secret on all hosts of this box',
      SKILLBOX_DRAIN_TIMEOUT: '1s',
      SKILLBOX_PREVIEW_DOMAIN: 'box.test',
    };
    pair = await Promise.all([start(), start()]);
  });
  afterEach(async () => {
    const [first] = pair;
    for (const { id } of await listed(first, 'state=ready&limit=500')) await first.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  });
  afterAll(async () => {
    await Promise.all(servers.filter(({ running }) => running).map((server) => server.stop()));
    for (const { stateRoot } of servers) rmSync(stateRoot, { recursive: true, force: true });
    await postgres.stop();
  });

  const start = async (more: Record<string, string> = {}): Promise<ServerProcess> => {
    const server = await startServerProcess({ stateRoot: newStateRoot(), env: { ...env, ...more } });
    servers.push(server);
    return server;
  };
  const create = async (
    server: ServerProcess,
    body: Record<string, unknown> = { template: 'base' },
    key = server.key,
  ): Promise<Sandbox> => {
    const answer = await server.json<Sandbox>('/v1/sandboxes', { body, key });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const listed = async (server: ServerProcess, query: string): Promise<Sandbox[]> =>
    (await server.json<Page<Sandbox>>(`/v1/sandboxes?${query}`)).body.items;
  const exec = async (server: ServerProcess, id: string, cmd: string, more: Record<string, unknown> = {}): Promise<Result> =>
    (await server.json<Result>(`/v1/sandboxes/${id}/programs`, { body: { cmd, ...more } })).body;
  const disks = ({ stateRoot }: ServerProcess): string[] => readdirSync(join(stateRoot, 'sandboxes', 'living'));

  it.each(['modern', 'session'] as const)('tools of MCP work through either, for a client of the %s kind', async (era) => {
    const [a, b] = pair;
    const { id } = await create(a);
    const client = await connect(b, era);
    const ran = await client.callTool({ name: 'skillbox_sandbox_exec', arguments: { id, cmd: 'echo over there' } });
    expect(ran.structuredContent).toMatchObject({ stdout: 'over there\n', exit_code: 0 });
    const file = { id, path: 'note.txt', content: 'by a tool' };
    await client.callTool({ name: 'skillbox_sandbox_file_write', arguments: file });
    expect((await exec(a, id, 'cat note.txt')).stdout).toBe('by a tool');
    await client.close();
    // A session is a thing of one host; the other says that it knows none, and the client begins anew.
    const session = await openSession(b);
    const ping = { headers: { 'Mcp-Session-Id': session }, body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
    expect((await b.json('/mcp', ping)).status).toBe(200);
    expect((await a.json('/mcp', ping)).status).toBe(404);
  });

  it('one is used through the other: programs, streams, terminals, records', async () => {
    const [a, b] = pair;
    const { id, host } = await create(a);
    expect(host).toBe(a.host);
    const answer = await b.request(`/v1/sandboxes/${id}/programs`, {
      body: { cmd: 'echo hello; exit 3' },
      headers: { 'X-Request-ID': 'kept-through' },
    });
    expect(answer.headers.get('x-request-id')).toBe('kept-through');
    expect(await answer.json()).toMatchObject({ stdout: 'hello\n', exit_code: 3 });
    expect((await listed(b, 'state=ready')).map((row) => row.id)).toEqual([id]);
    expect((await b.json(`/v1/sandboxes/${id}`)).body).toMatchObject({ id, host: a.host, state: 'ready' });

    const { program_id } = await exec(b, id, 'for n in 1 2 3 4 5 6; do echo tick $n; sleep 0.1; done', { wait: false });
    const path = `/v1/sandboxes/${id}/programs/${program_id}/events`;
    const first = await events(await b.request(path), 3);
    expect(first.map(({ data }) => data.text)).toEqual(['tick 1\n', 'tick 2\n', 'tick 3\n']);
    const rest = await events(await b.request(path, { headers: { 'Last-Event-ID': first.at(-1)?.id ?? '' } }));
    expect(rest.map(({ event, data }) => data.text ?? `${event} ${data.exit_code}`)).toEqual(['tick 4\n', 'tick 5\n', 'tick 6\n', 'end 0']);

    const terminal = new WebSocket(`${b.url.replace('http', 'ws')}/v1/sandboxes/${id}/pty?cols=70&rows=20`, ['skillbox', `key.${b.key}`]);
    let screen = '';
    terminal.on('message', (data: Buffer, binary: boolean) => {
      if (binary) screen += data.toString();
    });
    await once(terminal, 'open');
    terminal.send(Buffer.from('stty size; echo is-$((6*7))\n'));
    await expect.poll(() => screen).toMatch(/20 70[\s\S]*is-42/);
    terminal.close();

    // The wrong host asks nobody in whose place it could speak: keys and tenants are the owner's to judge.
    const other = await b.newKey('other', ['sandboxes:read', 'sandboxes:use']);
    for (const [given, status] of [
      [null, 401],
      [`sk-${'0'.repeat(48)}`, 401],
      [other, 404],
    ] as const)
      expect((await b.request(`/v1/sandboxes/${id}/programs`, { key: given as string | null })).status).toBe(status);
    const guarded = { 'X-Skillbox-Forwarded': 'me' };
    expect((await b.request(`/v1/sandboxes/${id}/programs`, { headers: guarded })).status).toBe(503);
    expect((await a.request(`/v1/sandboxes/${id}/programs`, { headers: guarded })).status).toBe(200);

    const refused = new WebSocket(`${b.url.replace('http', 'ws')}/v1/sandboxes/${id}/pty`);
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(401);
    response.destroy();
    expect((await b.json<Sandbox>(`/v1/sandboxes/${id}`, { method: 'DELETE' })).body).toMatchObject({ state: 'destroyed', host: a.host });
    expect(disks(a)).toEqual([]);
  });

  it('large files go through in both directions without being held in memory', { timeout: 120_000 }, async () => {
    const [a, b] = pair;
    const { id } = await create(a);
    const size = 192 * mebi;
    const block = randomBytes(mebi);
    const sum = createHash('sha256');
    const before = residentBytes(b.pid);
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentBytes(b.pid));
    }, 20);
    const blocks = function* () {
      for (let n = 0; n < size / mebi; n += 1) {
        sum.update(block);
        yield block;
      }
    };
    const upload = httpRequest(`${b.url}/v1/sandboxes/${id}/files?path=big`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${b.key}`, 'Content-Type': 'application/octet-stream' },
    });
    Readable.from(blocks()).pipe(upload);
    const [written] = (await once(upload, 'response')) as [IncomingMessage];
    written.resume();
    expect(written.statusCode).toBe(200);
    const read = createHash('sha256');
    for await (const chunk of (await b.request(`/v1/sandboxes/${id}/files?path=big`)).body ?? []) read.update(chunk);
    clearInterval(watch);
    expect(read.digest('hex')).toBe(sum.digest('hex'));
    console.log(`the host between grew by ${Math.round((peak - before) / mebi)} MiB for ${size / mebi} MiB each way`);
    expect(peak - before).toBeLessThan(96 * mebi);
  });

  it('servers inside are reached through either host, by path, name and WebSocket', async () => {
    const [a, b] = pair;
    const { id } = await create(a, { template: 'python' });
    await b.request(`/v1/sandboxes/${id}/files?path=server.py`, { method: 'PUT', body: insideServer });
    await exec(b, id, 'exec python3 server.py', { wait: false });
    const key = { Authorization: `Bearer ${b.key}` };
    await expect.poll(async () => (await b.request(`/preview/${id}/8000/`)).status, { timeout: 10_000 }).toBe(200);
    expect(await (await b.request(`/preview/${id}/8000/a/../b?c=d`)).text()).toContain('GET /b?c=d');
    expect(await byName(b, `8000-${id}.box.test`, '/named', key)).toContain('GET /named');
    const { body: link } = await b.json<{ url: string }>(`/v1/sandboxes/${id}/ports/8000/link`, { method: 'POST', body: {} });
    const { pathname, search, hostname } = new URL(link.url);
    expect(await byName(b, hostname, pathname + search, {})).toContain('GET /');
    expect(await byName(b, hostname, `${pathname}?token=1.default.forged`, {})).toContain('link_expired');

    const socket = new WebSocket(`${b.url.replace('http', 'ws')}/preview/${id}/8000/ws`, { headers: key });
    await once(socket, 'open');
    socket.send('through two hosts');
    const [echo] = (await once(socket, 'message')) as [Buffer];
    expect(echo.toString()).toBe('through two hosts');
    socket.close();
    expect((await b.json(`/preview/${id}/9/`)).body).toMatchObject({ error: 'nothing_listens' });
  });

  it('disks: pause, snapshot, fork and a start from a snapshot happen where the disk is', async () => {
    const [a, b] = pair;
    const { id } = await create(a);
    await exec(b, id, 'echo kept > note');
    expect((await b.json<Sandbox>(`/v1/sandboxes/${id}/pause`, { body: {} })).body.state).toBe('paused');
    const { body: snapshot } = await b.json<Snapshot>(`/v1/sandboxes/${id}/snapshots`, { body: { name: 'one' } });
    expect((await exec(b, id, 'cat note')).stdout).toBe('kept\n');
    expect((await b.json<Page<Snapshot>>('/v1/snapshots')).body.items).toEqual([snapshot]);
    const copy = await create(b, { snapshot: snapshot.id });
    expect(copy.host).toBe(a.host);
    expect((await exec(b, copy.id, 'cat note')).stdout).toBe('kept\n');
    const { body: forks } = await b.json<Page<Sandbox>>(`/v1/sandboxes/${id}/fork`, { body: { count: 2 } });
    expect(forks.items.map(({ host }) => host)).toEqual([a.host, a.host]);
    const there = await create(b);
    const refused = await a.json(`/v1/sandboxes/${there.id}/restore`, { body: { snapshot: snapshot.id } });
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { error: 'invalid_state', hint: expect.stringContaining('Create a sandbox') },
    ]);
    // Deleted through the host that does not have it.
    expect((await b.request(`/v1/snapshots/${snapshot.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await b.json('/v1/sandboxes', { body: { snapshot: snapshot.id } })).status).toBe(404);
    for (const one of [id, copy.id, there.id, ...forks.items.map((fork) => fork.id)])
      await b.request(`/v1/sandboxes/${one}`, { method: 'DELETE' });
    await expect.poll(() => readdirSync(join(a.stateRoot, 'sandboxes', 'layers')), { timeout: 10_000 }).toEqual(['base']);
    expect([disks(a), disks(b)]).toEqual([[], []]);
  });

  it('E2B’s SDK works through the host that does not have the sandbox', { timeout: 60_000 }, async () => {
    const [a, b] = pair;
    Object.assign(process.env, e2bEnv(a));
    const { sandboxId } = await E2bSandbox.create('base');
    Object.assign(process.env, e2bEnv(b));
    const sandbox = await E2bSandbox.connect(sandboxId);
    expect(await sandbox.isRunning()).toBe(true);
    let streamed = '';
    const say = (text: string): void => {
      streamed += text;
    };
    const done = await sandbox.commands.run('echo out; echo err >&2', { onStdout: say });
    expect([done.stdout, done.stderr, streamed]).toEqual(['out\n', 'err\n', 'out\n']);
    await expect(sandbox.commands.run('exit 4')).rejects.toThrow(CommandExitError);
    const background = await sandbox.commands.run('cat', { background: true, stdin: true });
    await sandbox.commands.sendStdin(background.pid, 'typed');
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(background.pid);
    expect(await sandbox.commands.kill(background.pid)).toBe(true);

    const seen: string[] = [];
    await sandbox.files.makeDir('watched');
    const watch = await sandbox.files.watchDir('watched', ({ name }) => void seen.push(name));
    await sandbox.files.write('watched/new.txt', 'hello');
    await expect.poll(() => seen).toContain('new.txt');
    await watch.stop();
    expect(await sandbox.files.read('watched/new.txt')).toBe('hello');
    const bytes = randomBytes(8 * mebi);
    await sandbox.files.write('large', bytes.buffer as ArrayBuffer);
    const back = await sandbox.files.read('large', { format: 'bytes' });
    expect(createHash('sha1').update(back).digest('hex')).toBe(createHash('sha1').update(Buffer.from(bytes.buffer)).digest('hex'));
    const form = new FormData();
    form.append('file', new Blob(['signed in']), 'in.txt');
    expect((await fetch(await sandbox.uploadUrl('in.txt'), { method: 'POST', body: form })).status).toBe(200);
    const download = await fetch(await sandbox.downloadUrl('in.txt'));
    expect(await download.text()).toBe('signed in');
    const forged = (await sandbox.downloadUrl('in.txt')).replace(/signature=v1_.{4}/, 'signature=v1_AAAA');
    expect((await fetch(forged)).status).toBe(401);

    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (data) => say(Buffer.from(data).toString()) });
    await sandbox.pty.sendInput(terminal.pid, Buffer.from('echo pty-$((40+2))\n'));
    await expect.poll(() => streamed).toContain('pty-42');
    await sandbox.pty.kill(terminal.pid);
    const snapshot = await sandbox.createSnapshot();
    const copy = await E2bSandbox.create(snapshot.snapshotId);
    expect(await copy.files.read('in.txt')).toBe('signed in');
    expect((await a.json<Sandbox>(`/v1/sandboxes/${copy.sandboxId}`)).body.host).toBe(a.host);
    await copy.kill();
    expect(await sandbox.pause()).toBe(true);
    expect((await E2bSandbox.connect(sandboxId)).sandboxId).toBe(sandboxId);
    expect(await sandbox.kill()).toBe(true);
    expect(await sandbox.isRunning()).toBe(false);
    expect(disks(a)).toEqual([]);
  });

  it('an owner that lives but cannot be reached: the record is there, its use is a clear 503', async () => {
    const [, b] = pair;
    const a = await start({ SKILLBOX_ADVERTISE_URL: 'http://127.0.0.1:1' });
    const { id } = await create(a);
    expect((await b.json(`/v1/sandboxes/${id}`)).body).toMatchObject({ state: 'ready', host: a.host });
    const refused = await b.json(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'true' } });
    expect([refused.status, refused.body]).toMatchObject([
      503,
      {
        error: 'on_another_host',
        message: expect.stringContaining('cannot be reached'),
        hint: expect.stringContaining('SKILLBOX_ADVERTISE_URL'),
      },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await b.json(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'true' }, key: null })).status).toBe(401);
    expect((await b.request(`/preview/${id}/80/`)).status).toBe(503);
    await a.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  });
});

/** fetch would not let Host be set. */
async function byName(server: ServerProcess, host: string, path: string, headers: Record<string, string>): Promise<string> {
  const request = httpRequest(`${server.url}${path}`, { headers: { ...headers, Host: host } });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

/** Says what it was asked, and echoes over WebSocket. */
const insideServer = `
import asyncio, base64, hashlib
async def serve(reader, writer):
    line = (await reader.readline()).decode('latin1').strip()
    headers = {}
    while True:
        field = (await reader.readline()).decode('latin1').strip()
        if not field: break
        name, value = field.split(':', 1); headers[name.lower()] = value.strip()
    if headers.get('upgrade') == 'websocket':
        accept = base64.b64encode(hashlib.sha1((headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()).decode()
        writer.write(('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: %s\\r\\n\\r\\n' % accept).encode())
        head = await reader.readexactly(2); mask = await reader.readexactly(4); data = await reader.readexactly(head[1] & 127)
        writer.write(bytes([129, len(data)]) + bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)))
        await asyncio.sleep(1)
    else:
        text = line.encode()
        writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n' % len(text) + text)
    await writer.drain(); writer.close()
async def main():
    async with await asyncio.start_server(serve, '127.0.0.1', 8000): await asyncio.Event().wait()
asyncio.run(main())
`;
