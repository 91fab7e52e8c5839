/** The host's side of a living guest against guests that are not honest, and content that breaks off. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeFrame } from './channel.ts';
import { connectTo, createGuestClient, type GuestClient } from './guest-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-guest-'));
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

/** A guest that does this with each connection. */
async function guestThat(behaves: (socket: Socket) => void): Promise<GuestClient> {
  const path = join(folder, `${servers.length}.sock`);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    behaves(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  servers.push(server);
  return createGuestClient(() => connectTo(path));
}

const withinTime = <T>(work: Promise<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => setTimeout(() => reject(new Error('it hangs')), 5000))]);

async function* breaksOff(error: Error): AsyncGenerator<Buffer> {
  yield Buffer.from('the first half');
  throw error;
}

describe('a write whose content breaks off', () => {
  it.each([
    ['an error of ours', new BoxError('bad_request', 'The form cannot be read.')],
    ['any other error', new Error('cut off')],
  ])('with %s fails with it, and the guest sees no end of the file', async (_, error) => {
    const seen: Buffer[] = [];
    let hungUp = false;
    const client = await guestThat((socket) => {
      socket.write(encodeFrame('z', Buffer.alloc(0), 0));
      socket.on('data', (bytes) => seen.push(bytes));
      socket.on('close', () => {
        hungUp = true;
      });
    });
    await expect(withinTime(client.files.write('/x', Readable.from(breaksOff(error))))).rejects.toBe(error);
    await expect.poll(() => hungUp).toBe(true);
    expect(Buffer.concat(seen).includes(encodeFrame('z', Buffer.alloc(0), 0))).toBe(false);
  });

  it('by a guest that hangs up fails, with the reason it gave if any', async () => {
    const full = Buffer.from([28, 0, 0, 0, ...Buffer.from('no space')]);
    const refusing = await guestThat((socket) => {
      socket.write(encodeFrame('z', Buffer.alloc(0), 0));
      socket.once('data', () => socket.end(encodeFrame('!', full, 0), () => socket.destroy()));
    });
    const endless = () =>
      Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(65_536);
        })(),
      );
    await expect(withinTime(refusing.files.write('/x', endless()))).rejects.toMatchObject({ code: 'quota_exceeded' });
    const rude = await guestThat((socket) => {
      socket.write(encodeFrame('z', Buffer.alloc(0), 0));
      socket.once('data', () => socket.destroy());
    });
    await expect(withinTime(rude.files.write('/x', endless()))).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('a guest that is hostile', () => {
  const signal = AbortSignal.timeout(60_000);
  /** Everything that the host may ask, read to its end. */
  const asks: ((client: GuestClient) => Promise<unknown>)[] = [
    (client) => client.programs(),
    (client) => client.signal(1, 9),
    async (client) => {
      const program = await client.start({ id: 1, argv: ['/bin/true'], env: {}, cwd: '/', stdin: false });
      for await (const _ of program.events);
    },
    async (client) => {
      const program = await client.join(1, 0);
      for await (const _ of program.events);
    },
    (client) => client.files.stat('/x'),
    (client) => client.files.list('/x'),
    (client) => client.files.makeDir('/x'),
    (client) => client.files.move('/x', '/y'),
    (client) => client.files.remove('/x'),
    async (client) => {
      const { content } = await client.files.read('/x');
      for await (const _ of content);
    },
    (client) => client.files.write('/x', Buffer.alloc(1000)),
    async (client) => {
      for await (const _ of await client.files.watch('/x', { recursive: true, signal }));
    },
    async (client) => (await client.tunnel(80)).destroy(),
  ];
  const frame = fc
    .tuple(fc.constantFrom(...'zpoetmqlNDh!?'), fc.uint8Array({ maxLength: 64 }), fc.nat(3))
    .map(([type, payload, id]) => encodeFrame(type, Buffer.from(payload), id));
  const bytes = fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array));

  it('ends every request in an answer or an error of ours, whatever it says', async () => {
    let says: Buffer[] = [];
    const client = await guestThat((socket) => {
      for (const part of says) socket.write(part);
      socket.end();
      socket.resume();
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(frame, bytes), { maxLength: 6 }), fc.constantFrom(...asks), async (parts, ask) => {
        says = parts;
        await withinTime(ask(client)).catch((error) => {
          if (!(error instanceof BoxError)) throw error;
        });
      }),
      { numRuns: 300 },
    );
  });

  it('does not make the host hold more than one listing may have', async () => {
    const entry = encodeFrame('N', Buffer.concat([Buffer.alloc(29), Buffer.from('/x\0\0')]), 0);
    const many = Buffer.concat(Array.from({ length: 1000 }, () => entry));
    const client = await guestThat((socket) => {
      const flood = (): void => {
        while (socket.writable && socket.write(many));
      };
      socket.on('drain', flood);
      flood();
    });
    await expect(withinTime(client.files.list('/x'))).rejects.toMatchObject({ code: 'sandbox_failed' });
  });
});
