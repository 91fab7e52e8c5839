/** Who gets a terminal: a browser cannot set headers on a WebSocket, so key and tenant are among the protocols it offers. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startTestBox, type TestBox } from '../support/box.ts';

let box: TestBox;
let id: string;
let owner: string;
let reader: string;
let stranger: string;

beforeAll(async () => {
  box = await startTestBox();
  owner = await box.newKey('alpha', ['sandboxes:read', 'sandboxes:use']);
  reader = await box.newKey('alpha', ['sandboxes:read']);
  stranger = await box.newKey('beta', ['sandboxes:read', 'sandboxes:use']);
  id = (await box.json<{ id: string }>('/v1/sandboxes', { key: owner, body: { template: 'base' } })).body.id;
});
afterAll(() => box.stop());

/** 101 when there is a terminal, else the status of the refusal. */
function open(protocols: readonly string[], headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${box.url.replace('http', 'ws')}/v1/sandboxes/${id}/pty?cmd=true`, [...protocols], { headers });
    socket.once('open', () => {
      resolve(101);
      socket.terminate();
    });
    socket.once('unexpected-response', (_request, answer) => {
      resolve(answer.statusCode ?? 0);
      answer.resume();
      socket.terminate();
    });
    socket.on('error', () => undefined);
  });
}

describe('terminals', () => {
  it('pages of another site open none, whatever key they offer', async () => {
    for (const Origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost.evil.example', 'file://'])
      expect(await open(['skillbox', `key.${owner}`], { Origin }), Origin).toBe(403);
    expect(await open(['skillbox', `key.${owner}`], { Origin: box.url })).toBe(101);
  });

  it('there is none without a key that may use sandboxes', async () => {
    expect(await open(['skillbox'])).toBe(401);
    expect(await open(['skillbox'], { Cookie: `skillbox_key=${owner}; skillbox_preview=${owner}` })).toBe(401);
    expect(await open(['skillbox', `key.sk-${'0'.repeat(48)}`])).toBe(401);
    expect(await open(['skillbox', `key.${reader}`])).toBe(403);
    expect(await open(['skillbox', `key.${stranger}`])).toBe(404);
  });

  it('only administrators name another tenant, and reach no further than it', async () => {
    expect(await open(['skillbox', `key.${stranger}`, 'tenant.alpha'])).toBe(403);
    expect(await open(['skillbox', `key.${owner}`, 'tenant.alpha'])).toBe(101);
    expect(await open(['skillbox', `key.${box.key}`])).toBe(404);
    expect(await open(['skillbox', `key.${box.key}`, 'tenant.beta'])).toBe(404);
    expect(await open(['skillbox', `key.${box.key}`, 'tenant.alpha'])).toBe(101);
    expect(await open(['skillbox', `key.${box.key}`, 'tenant.ALPHA'])).toBe(400);
    // A header, which a page cannot set, is what counts where both are.
    expect(await open(['skillbox', `key.${box.key}`, 'tenant.alpha'], { 'X-Tenant-ID': 'beta' })).toBe(404);
  });
});
