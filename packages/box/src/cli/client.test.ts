import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { commandNamed } from './call.ts';
import { createClient, isBroken, requestOf } from './client.ts';
import { readEvents } from './event-stream.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function answering(listener: RequestListener) {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createClient({ url, key: 'sk-test', tenant: 'acme' });
}

const id = '7d4e1c1e-2a6b-4a7a-9f0e-3f5f3a0c9b11';

describe('requestOf', () => {
  it('puts path, query and body where the registry says', () => {
    expect(requestOf(commandNamed('skill.show'), { name: 'a/b ?', version: '1.0.0' })).toMatchObject({
      method: 'GET',
      path: '/v1/skills/a%2Fb%20%3F/1.0.0',
    });
    expect(requestOf(commandNamed('skill.show'), { name: 'a' }).path).toBe('/v1/skills/a/latest');
    expect(requestOf(commandNamed('execution.file'), { id, path: 'sub/a b#.txt' }).path).toBe(
      `/v1/executions/${id}/files/sub/a%20b%23.txt`,
    );
    expect(requestOf(commandNamed('execution.list'), { skill: 'a&b', limit: 5 }).path).toBe('/v1/executions?skill=a%26b&limit=5');
    const { body, contentType, path } = requestOf(commandNamed('tenant.set'), { name: 'acme', slots: 4 });
    expect({ body: body?.toString(), contentType, path }).toEqual({
      body: '{"slots":4}',
      contentType: 'application/json',
      path: '/v1/tenants/acme',
    });
  });
});

describe('a call', () => {
  it('carries key and tenant, and keeps the text of the answer', async () => {
    let seen: IncomingMessage | undefined;
    const client = await answering((request, response) => {
      seen = request;
      response.end('{"big":12345678901234567890}');
    });
    const { text } = await client.call(commandNamed('execution.get'), { id });
    expect(text).toBe('{"big":12345678901234567890}');
    expect(seen?.headers).toMatchObject({ authorization: 'Bearer sk-test', 'x-tenant-id': 'acme' });
  });

  it('turns an answered error into the same error here', async () => {
    const client = await answering((_request, response) => {
      response.writeHead(429, { 'Retry-After': '7' });
      response.end(JSON.stringify({ error: 'queue_full', message: 'Full.', hint: 'Wait.', details: { a: 1 }, request_id: 'r-1' }));
    });
    await expect(client.call(commandNamed('execution.get'), { id })).rejects.toMatchObject({
      ...{ code: 'queue_full', message: 'Full.', hint: 'Wait.', details: { a: 1 }, requestId: 'r-1', retryAfter: 7, exit: 6 },
    });
  });

  it('understands a code that only a newer box knows by its status', async () => {
    const client = await answering((_request, response) => {
      response.writeHead(404);
      response.end(JSON.stringify({ error: 'moon_not_found', message: 'No moon.', request_id: 'r' }));
    });
    await expect(client.call(commandNamed('execution.get'), { id })).rejects.toMatchObject({ code: 'not_found', message: 'No moon.' });
  });

  it.each([404, 200, 302])('says so when something else than a box answers with %d', async (status) => {
    const client = await answering((_request, response) => {
      response.writeHead(status, status === 302 ? { Location: 'http://127.0.0.1:1/' } : {});
      response.end('<html>');
    });
    await expect(client.call(commandNamed('execution.get'), { id })).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('as a Skillbox does'),
    });
  });

  it('says so when nobody listens, and when the connection breaks', async () => {
    const client = await answering((request) => request.socket.destroy());
    const broken = await client.call(commandNamed('execution.get'), { id }).catch((error: unknown) => error);
    expect(broken).toMatchObject({ code: 'unreachable', exit: 7 });
    expect(isBroken(broken)).toBe(true);
    await new Promise((resolve) => server?.close(resolve));
    const refused = await client.call(commandNamed('execution.get'), { id }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'unreachable', message: expect.stringContaining('nothing listens there') });
    expect(isBroken(refused)).toBe(false);
  });

  it('gives up on a server that stays silent', async () => {
    const client = await answering(() => undefined);
    await expect(client.call(commandNamed('execution.get'), { id }, { silenceMs: 100 })).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('no answer within'),
    });
  });

  it('reports progress of an upload, and reads a refusal that comes before its end', async () => {
    const client = await answering((_request, response) => {
      response.writeHead(413);
      response.end(JSON.stringify({ error: 'too_large', message: 'Too large.', request_id: 'r' }));
    });
    let last = 0;
    const upload = client.call(
      commandNamed('skill.push'),
      { archive: Buffer.alloc(8 * 2 ** 20) },
      {
        onUpload: (sent) => {
          last = sent;
        },
      },
    );
    await expect(upload).rejects.toMatchObject({ code: 'too_large' });
    expect(last).toBeGreaterThan(0);
  });
});

describe('a stream of events', () => {
  it('is read whatever the pieces it comes in, and sends where to go on', async () => {
    let lastEventId: unknown;
    const client = await answering((request, response) => {
      lastEventId = request.headers['last-event-id'];
      response.write(': connected\n\nid: 5\nevent: stdout\nda');
      setTimeout(() => response.end('ta: {"text":"ü\\n"}\n\nid: 6\nevent: status\ndata: {"text":"success"}\n\n'), 20);
    });
    const events = [];
    for await (const event of client.events(commandNamed('execution.events'), { id }, { lastEventId: '4' })) events.push(event);
    expect(lastEventId).toBe('4');
    expect(events).toEqual([
      { id: '5', event: 'stdout', data: { text: 'ü\n' } },
      { id: '6', event: 'status', data: { text: 'success' } },
    ]);
  });

  it('throws when it is cut off', async () => {
    const client = await answering((_request, response) => {
      response.write('id: 1\nevent: stdout\ndata: {"text":"a"}\n\n');
      setTimeout(() => response.destroy(), 20);
    });
    const read = async () => {
      for await (const _event of client.events(commandNamed('execution.events'), { id }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('splits a character between two pieces without harm', async () => {
    const bytes = Buffer.from('data: {"text":"ü"}\n\n');
    const pieces = async function* () {
      for (const byte of bytes) yield Buffer.from([byte]);
    };
    const events = [];
    for await (const { data } of readEvents(pieces())) events.push(data);
    expect(events).toEqual([{ text: 'ü' }]);
  });
});
