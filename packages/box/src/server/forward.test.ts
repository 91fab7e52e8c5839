import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Box } from '../box.ts';
import { nobody } from './auth.ts';
import { forwardToOwner } from './forward.ts';

const seen: IncomingMessage[] = [];
const owner = createServer((request, response) => {
  seen.push(request);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end('from the owner');
});
let ownerUrl: string;
beforeAll(async () => {
  owner.listen(0, '127.0.0.1');
  await once(owner, 'listening');
  ownerUrl = `http://127.0.0.1:${(owner.address() as AddressInfo).port}`;
});
beforeEach(() => seen.splice(0));
afterAll(() => owner.close());

const id = randomUUID();
const path = `/v1/executions/${id}/events`;
const boxWith = (row: { host: string; status: string }, url: unknown) =>
  ({
    host: 'host-here',
    executions: { row: async () => row },
    store: { leases: { list: async () => [{ expired: false, data: { url } }] } },
    log: { warn: vi.fn() },
  }) as unknown as Box;
const forward = (box: Box, url = path, headers: Record<string, string> = {}) =>
  forwardToOwner(box, nobody, id, { url, headers } as unknown as IncomingMessage, new AbortController().signal);

it('passes on what another host runs, with who asks and where to go on', async () => {
  const answer = await forward(boxWith({ host: 'host-there', status: 'running' }, ownerUrl), `${path}?a=1`, {
    authorization: 'Bearer sk-x',
    'last-event-id': '7',
    cookie: 'not passed on',
  });
  expect(await answer?.text()).toBe('from the owner');
  expect(seen[0]?.url).toBe(`${path}?a=1`);
  expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer sk-x', 'last-event-id': '7', 'x-skillbox-forwarded': 'host-here' });
  expect(seen[0]?.headers.cookie).toBeUndefined();
});

it('goes to the owner even when the request line names another address', async () => {
  const answer = await forward(boxWith({ host: 'host-there', status: 'running' }, ownerUrl), `http://127.0.0.1:1${path}`);
  expect(await answer?.text()).toBe('from the owner');
});

it('answers itself what is its own, what has ended, what was passed on already, and what nobody can be asked about', async () => {
  expect(await forward(boxWith({ host: 'host-here', status: 'running' }, ownerUrl))).toBeUndefined();
  expect(await forward(boxWith({ host: 'host-there', status: 'success' }, ownerUrl))).toBeUndefined();
  expect(
    await forward(boxWith({ host: 'host-there', status: 'running' }, ownerUrl), path, { 'x-skillbox-forwarded': 'x' }),
  ).toBeUndefined();
  expect(await forward(boxWith({ host: 'host-there', status: 'running' }, undefined))).toBeUndefined();
  expect(await forward(boxWith({ host: 'host-there', status: 'running' }, 'http://127.0.0.1:1'))).toBeUndefined();
  expect(seen).toEqual([]);
});
