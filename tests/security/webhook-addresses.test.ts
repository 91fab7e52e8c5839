/** A tenant's webhook as a way into the operator's network: by an address, by a name, by a name that changes, by a redirect. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDestinations } from '../../packages/box/src/events/webhooks/destination.ts';
import { createPoster } from '../../packages/box/src/events/webhooks/post.ts';
import { type Hub, startHub } from '../support/hub.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const message = { id: 'evt_1', body: '{}' };
const never = new AbortController().signal;
let hub: Hub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.close());

const post = async (url: string, answers: () => string[] = () => [], where: 'internet' | 'anywhere' = 'internet') => {
  const destination = createDestinations(async () => answers())[where];
  const poster = createPoster({ url, secret, destination, timeoutMs: 2000, connections: 4 });
  try {
    return await poster.post(message, never);
  } finally {
    poster.close();
  }
};
const at = (host: string): string => hub.url.replace('127.0.0.1', host);

describe('a webhook of a tenant', () => {
  it('reaches no address that is not on the internet, however it is spelled', async () => {
    for (const host of [
      '127.0.0.1',
      '127.1',
      '0x7f000001',
      '2130706433',
      '0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
    ])
      expect(await post(at(host)), host).toMatchObject({
        kind: 'away',
        status: null,
        error: expect.stringContaining('is not on the internet'),
      });
    for (const host of [
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '169.254.169.254',
      '[fd00:ec2::254]',
      '[fe80::1]',
      '255.255.255.255',
    ])
      expect(await post(`http://${host}/`), host).toMatchObject({ kind: 'away', error: expect.stringContaining('is not on the internet') });
    expect(hub.received).toEqual([]);
  });

  it('reaches none by a name either, and none by a name that means another address from one moment to the next', async () => {
    for (const address of ['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254'])
      expect(await post(at('hub.example'), () => [address]), address).toMatchObject({
        kind: 'away',
        error: expect.stringContaining(`hub.example is not on the internet: ${address} is a`),
      });
    // Judged at each connection, on the very address it goes to: the first answer of the name is not kept, the second is not trusted.
    let asked = 0;
    const flip = (): string[] => [++asked % 2 ? '203.0.113.1' : '127.0.0.1'];
    const destination = createDestinations(async () => flip()).internet;
    const poster = createPoster({ url: at('hub.example'), secret, destination, timeoutMs: 300, connections: 4 });
    for (let round = 0; round < 4; round += 1) expect((await poster.post(message, never)).kind).toBe('away');
    poster.close();
    expect(asked).toBe(4);
    expect(hub.received).toEqual([]);
  });

  it('does not follow a redirect to where it may not go, nor to anywhere', async () => {
    let answered = 0;
    hub.answer = () => (response) => {
      answered += 1;
      response.writeHead(302, { Location: at('127.0.0.1').replace('/hook', '/inside') }).end();
    };
    // As the operator's, so that the hub of the test can be reached at all.
    expect(await post(hub.url, undefined, 'anywhere')).toMatchObject({ kind: 'refused', status: 302 });
    expect(answered).toBe(1);
    expect(hub.received.map(({ path }) => path)).toEqual(['/hook']);
  });
});
