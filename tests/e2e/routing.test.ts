/** Where a sandbox is made: here while there is room, then elsewhere; whoever fails is passed over, and the reason is kept. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RouteExplanation, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { sshdIsInstalled, startSshd, type TestSshd } from '../support/sshd.ts';
import { main } from './cli-process.ts';

const create = (box: TestBox, template: string) => box.json<Sandbox>('/v1/sandboxes', { body: { template } });
const explain = async (box: TestBox, template: string) => (await box.json<RouteExplanation>(`/v1/templates/${template}/route`)).body.route;
const end = (box: TestBox, id: string) => box.json<Sandbox>(`/v1/sandboxes/${id}`, { method: 'DELETE' });

describe('a host that is full', () => {
  let far: TestBox;
  let near: TestBox;
  beforeAll(async () => {
    far = await startTestBox();
    const address = `${far.url}/e2b`;
    near = await startTestBox({
      ...{ SKILLBOX_E2B_API_KEY: far.key, SKILLBOX_E2B_API_URL: address, SKILLBOX_E2B_SANDBOX_URL: address },
      ...{ SKILLBOX_MAX_SANDBOXES: '2', SKILLBOX_PROVIDER_PRICES: 'e2b=0.12' },
    });
    // The paid one is named first, and comes last all the same.
    const body = { providers: ['e2b', 'bubblewrap'], options: { template: 'base' }, idle: { action: 'keep' } };
    await near.json('/v1/templates/spill', { method: 'PUT', body });
  });
  afterAll(async () => {
    await near.stop();
    await far.stop();
  });

  it('passes creates on to a second box, however many come at once, and takes them again when there is room', async () => {
    expect(await explain(near, 'spill')).toEqual([
      { provider: 'bubblewrap', taken: true, reason: 'the first that can' },
      { provider: 'e2b', taken: false, reason: 'tried when those before it fail, at 0.12 an hour' },
    ]);
    const made = await Promise.all(Array.from({ length: 4 }, async () => (await create(near, 'spill')).body));
    expect(made.map(({ provider }) => provider).sort()).toEqual(['bubblewrap', 'bubblewrap', 'e2b', 'e2b']);
    const full = 'this host is full: it has 2 of 2 sandboxes';
    for (const { route } of made.filter(({ provider }) => provider === 'e2b'))
      expect(route).toEqual([
        { provider: 'bubblewrap', taken: false, reason: full },
        { provider: 'e2b', taken: true, reason: 'the first that could' },
      ]);
    const ran = await near.json(`/v1/sandboxes/${made.find(({ provider }) => provider === 'e2b')?.id}/programs`, {
      body: { cmd: 'echo far' },
    });
    expect(ran.body).toMatchObject({ exit_code: 0, stdout: 'far\n' });
    expect(await explain(near, 'spill')).toMatchObject([
      { provider: 'bubblewrap', taken: false, reason: full },
      { provider: 'e2b', taken: true },
    ]);
    // As a table, and as JSON.
    const cli = await main(['route', 'explain', 'spill'], { SKILLBOX_SERVER_URL: near.url, SKILLBOX_API_KEY: near.key });
    expect(cli.stdout).toMatch(
      /PROVIDER +TAKEN +WHY\nbubblewrap +no +this host is full: it has 2 of 2 sandboxes\ne2b +yes +the first that can, at 0\.12/,
    );

    // One that has only this host is refused, in words; one that is paused or ended makes room, and one may be made anew in its own place.
    const refused = await near.json('/v1/sandboxes', { body: { template: 'base' } });
    expect(refused).toMatchObject({ status: 503, body: { error: 'no_provider', message: expect.stringContaining(full) } });
    const [here, other] = made.filter(({ provider }) => provider === 'bubblewrap').map(({ id }) => id) as [string, string];
    expect((await near.json<Sandbox>(`/v1/sandboxes/${here}/recreate`, { body: {} })).body).toMatchObject({
      state: 'ready',
      provider: 'bubblewrap',
    });
    await near.json(`/v1/sandboxes/${other}/pause`, { body: {} });
    const third = (await create(near, 'spill')).body;
    expect(third.provider).toBe('bubblewrap');
    for (const { id } of [...made, third]) await end(near, id);
    expect((await create(near, 'spill')).body.provider).toBe('bubblewrap');
  });

  it('a provider that is not well, or fails, is passed over for the next with its reason', async () => {
    const gone = await startTestBox({
      ...{
        SKILLBOX_E2B_API_KEY: far.key,
        SKILLBOX_E2B_API_URL: 'http://127.0.0.1:19/e2b',
        SKILLBOX_PROVIDER_PRICES: 'bubblewrap=1,e2b=0.5',
      },
    });
    try {
      const body = { providers: ['bubblewrap', 'e2b'], idle: { action: 'keep' } };
      await gone.json('/v1/templates/both', { method: 'PUT', body });
      const { body: made } = await create(gone, 'both');
      expect(made).toMatchObject({
        state: 'ready',
        provider: 'bubblewrap',
        route: [
          { provider: 'e2b', taken: false, reason: expect.stringMatching(/^it is not healthy: /) },
          { provider: 'bubblewrap', taken: true, reason: 'the first that could' },
        ],
      });
    } finally {
      await gone.stop();
    }
    // Healthy, and yet it cannot: the far box has no such template.
    const body = { providers: ['bubblewrap', 'e2b'], options: { template: 'absent' }, idle: { action: 'keep' } };
    const picky = await startTestBox({
      ...{ SKILLBOX_E2B_API_KEY: far.key, SKILLBOX_E2B_API_URL: `${far.url}/e2b`, SKILLBOX_E2B_SANDBOX_URL: `${far.url}/e2b` },
      SKILLBOX_PROVIDER_PRICES: 'bubblewrap=1,e2b=0.5',
    });
    try {
      await picky.json('/v1/templates/both', { method: 'PUT', body });
      const { body: made } = await create(picky, 'both');
      expect(made).toMatchObject({ state: 'ready', provider: 'bubblewrap' });
      expect(made.route).toMatchObject([
        { provider: 'e2b', taken: false, reason: expect.stringContaining('absent') },
        { provider: 'bubblewrap', taken: true },
      ]);
    } finally {
      await picky.stop();
    }
  });

  it('finds out in less than a millisecond that it is the one', async () => {
    const caller = { tenant: 'default', actor: { kind: 'adm', id: 'test' }, scopes: ['admin'] } as const;
    const medians: number[] = [];
    // The best of three: whatever else this machine does is not the route's.
    for (let round = 0; round < 3; round += 1) {
      const times: number[] = [];
      for (let index = 0; index < 201; index += 1) {
        const started = performance.now();
        await near.box.sandboxes.explain(caller, 'base');
        times.push(performance.now() - started);
      }
      medians.push(times.sort((a, b) => a - b)[100] ?? Number.NaN);
    }
    console.log(`a route takes ${Math.min(...medians).toFixed(3)} ms`);
    expect(Math.min(...medians)).toBeLessThan(1);
  });

  it('is one too whose memory is short', async () => {
    const small = await startTestBox({ SKILLBOX_MIN_FREE_MEMORY: '4096Gi' });
    const { status, body } = await create(small, 'base');
    expect(status).toBe(503);
    expect(body).toMatchObject({
      error: 'no_provider',
      message: expect.stringMatching(/bubblewrap: this host is full: .* of memory are available, 4096Gi must be/),
    });
    await small.stop();
  });
});

describe.skipIf(!sshdIsInstalled())('placement', () => {
  let machine: TestSshd;
  let hosts: string;
  beforeAll(async () => {
    machine = await startSshd();
    const { address, fingerprint, keyFile, port, user } = machine.host;
    hosts = join(keyFile, '..', 'hosts.yaml');
    const known = { address, port, user, key_file: keyFile, fingerprint };
    writeFileSync(hosts, JSON.stringify({ one: known, two: known, dead: { ...known, port: 9 } }));
  });
  afterAll(() => machine.stop());
  const route = async (placement: string, env: Record<string, string> = {}): Promise<string | undefined> => {
    const box = await startTestBox({ SKILLBOX_SSH_HOSTS: hosts, ...env });
    try {
      const body = { providers: ['ssh'], network: { mode: 'full' }, idle: { action: 'keep' }, placement: placement.split(',') };
      await box.json('/v1/templates/there', { method: 'PUT', body });
      const made = await create(box, 'there');
      return made.status === 201 ? made.body.route.at(-1)?.reason : (made.body as unknown as { message: string }).message;
    } finally {
      await box.stop();
    }
  };

  it('is the first host of the template that answers, unless the operator wants another', async () => {
    expect(await route('two,one')).toBe('the first candidate, on two');
    expect(await route('dead,one')).toBe('the first candidate, on one');
    expect(await route('two', { SKILLBOX_PLACEMENT: 'one' })).toBe('the first candidate, on one');
    expect(await route('one', { SKILLBOX_PLACEMENT: 'nobody' })).toContain('nobody: it is not in the file of SKILLBOX_SSH_HOSTS');
  });
});
