/** Lifecycle events of a real box at a real hub: signed, private, off the path of what they tell about. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { CreatedWebhook, HostReport, Page, Sandbox, Webhook, WebhookDelivery } from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type Hub, startHub, until, verifyDelivery } from '../support/hub.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';

const run = promisify(execFile);
const manifestSecret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`;
const lifecycle = ['sandbox.requested', 'sandbox.provisioning', 'sandbox.ready', 'sandbox.destroying', 'sandbox.destroyed'];

describe('webhooks of a box', () => {
  let box: TestBox;
  let hub: Hub;
  beforeAll(async () => {
    box = await startTestBox({ SKILLBOX_WEBHOOK_PRIVATE_ADDRESSES: 'allow' });
  });
  afterAll(() => box.stop());
  beforeEach(async () => {
    hub = await startHub();
  });
  afterEach(async () => {
    const { body } = await box.json<Page<Webhook>>('/v1/webhooks');
    for (const { name } of body.items) await box.request(`/v1/webhooks/${name}`, { method: 'DELETE' });
    await hub.close();
  });
  const make = async (name: string, events = ['sandbox.*'], tenant?: string): Promise<CreatedWebhook> => {
    const headers: Record<string, string> = tenant ? { 'X-Tenant-ID': tenant } : {};
    const { status, body } = await box.json<CreatedWebhook>('/v1/webhooks', { body: { name, url: hub.url, events }, headers });
    expect(status).toBe(201);
    return body;
  };
  const live = async (): Promise<string> => {
    const { body } = await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' } });
    await box.json(`/v1/sandboxes/${body.id}`, { method: 'DELETE' });
    return body.id;
  };

  it('tell the whole life of each sandbox in order, verified by the code that the docs show', async () => {
    const { secret } = await make('life');
    const ids = await Promise.all([live(), live(), live()]);
    await until(() => hub.accepted().length === 15, 'fifteen deliveries');
    for (const id of ids)
      expect(
        hub
          .accepted()
          .filter(({ event }) => event.subject.id === id)
          .map(({ event }) => event.type),
      ).toEqual(lifecycle);
    expect(hub.received.every((one) => verifyDelivery(secret, one))).toBe(true);

    const folder = mkdtempSync(join(tmpdir(), 'skillbox-verify-'));
    try {
      const [first] = hub.received;
      const docs = readFileSync(resolve(import.meta.dirname, '../../docs/webhooks.md'), 'utf8');
      const shown = (language: string): string => new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(docs)?.[1] ?? '';
      writeFileSync(
        join(folder, 'verify.mjs'),
        `${shown('js')}\nconst [secret, headers, body] = JSON.parse(process.argv[2]);\nconsole.log(verify(secret, headers, body));\n`,
      );
      writeFileSync(
        join(folder, 'verify.py'),
        `${shown('python')}\nimport json, sys\nsecret, headers, body = json.loads(sys.argv[1])\nprint(str(verify(secret, headers, body.encode())).lower())\n`,
      );
      const old = { ...first?.headers, 'webhook-timestamp': String(Number(first?.headers['webhook-timestamp']) - 600) };
      const cases: [unknown, string][] = [
        [[secret, first?.headers, first?.body], 'true'],
        [[secret, first?.headers, `${first?.body} `], 'false'],
        [[manifestSecret, first?.headers, first?.body], 'false'],
        [[secret, old, first?.body], 'false'],
        [[secret, { ...first?.headers, 'webhook-signature': 'v1,AAAA' }, first?.body], 'false'],
      ];
      for (const [given, expected] of cases)
        for (const [program, file] of [
          [process.execPath, 'verify.mjs'],
          ['python3', 'verify.py'],
        ] as const) {
          const { stdout } = await run(program, [join(folder, file), JSON.stringify(given)]);
          expect([file, stdout.trim()]).toEqual([file, expected]);
        }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('show their secret once and nowhere else: no answer, no event, no row, no log', async () => {
    const { secret, ...made } = await make('quiet', ['*']);
    await live();
    hub.answer = () => 500;
    await box.json('/v1/webhooks/quiet/test', { method: 'POST', body: {} });
    await until(async () => (await box.json<Webhook>('/v1/webhooks/quiet')).body.state === 'failing', 'a failure');
    const { kysely } = box.box.store.database;
    const shown = await Promise.all([
      ...['/v1/webhooks', '/v1/webhooks/quiet', '/v1/webhooks/quiet/deliveries', '/v1/events?limit=500', '/v1/host', '/metrics'].map(
        async (path) => (await box.request(path)).text(),
      ),
      ...(['webhooks', 'webhook_cursors', 'webhook_deliveries', 'events'] as const).map(async (table) =>
        JSON.stringify(await kysely.selectFrom(table).selectAll().execute()),
      ),
      JSON.stringify(hub.received),
    ]);
    expect(shown.every((text) => text.length > 2)).toBe(true);
    for (const text of [...shown, JSON.stringify(made)]) expect(text).not.toContain(secret.slice(6, 26));
    expect(shown[3]).toContain('audit.webhook.create');
    expect(shown[5]).toMatch(/skillbox_webhook_attempts_total\{outcome="refused"\} [1-9]/);
    expect(shown[5]).toMatch(/skillbox_webhook_deliveries_pending [1-9]/);
    const report = JSON.parse(shown[4] ?? '') as HostReport;
    expect(report.webhooks).toMatchObject([{ name: 'quiet', state: 'failing', error: 'it answered 500' }]);
  });

  it('are those of one tenant; what another tenant does is not told, and is nothing that its administrator sees', async () => {
    await make('acme', ['*'], 'acme');
    await live();
    await box.push({ 'SKILL.md': '---\nname: told\nversion: 1.0.0\ndescription: Told.\n---\n\nHi.\n' }, await box.newKey('acme'));
    await until(() => hub.accepted().some(({ event }) => event.subject.type === 'skill'), 'what acme did');
    expect(new Set(hub.received.map(({ event }) => event.tenant))).toEqual(new Set(['acme']));
    expect((await box.json<Page<Webhook>>('/v1/webhooks')).body.items).toEqual([]);
    for (const [method, path] of [
      ['GET', '/v1/webhooks/acme'],
      ['GET', '/v1/webhooks/acme/deliveries'],
      ['DELETE', '/v1/webhooks/acme'],
    ] as const)
      expect((await box.json(path, { method })).status).toBe(404);
    for (const path of ['/v1/webhooks/acme/test', '/v1/webhooks/acme/retry']) expect((await box.json(path, { body: {} })).status).toBe(404);
    const headers = { 'X-Tenant-ID': 'acme' };
    const { body } = await box.json<Page<WebhookDelivery>>('/v1/webhooks/acme/deliveries?state=delivered', { headers });
    expect(body.items.length).toBeGreaterThan(0);
    expect((await box.request('/v1/webhooks/acme', { method: 'DELETE', headers })).status).toBe(204);
    expect((await box.json('/v1/webhooks/acme', { headers })).status).toBe(404);
  });

  it('refuse addresses that would show a password or lead nowhere', async () => {
    for (const url of [
      'ftp://hub.example/',
      'https://user:pass@hub.example/',
      'hub.example',
      'file:///etc/passwd',
      `http://hub.example/${'x'.repeat(2000)}`,
    ])
      expect((await box.json('/v1/webhooks', { body: { name: 'odd', url } })).status, url).toBe(400);
    for (const events of [[], ['sandbox*'], ['.'], ['sandbox.'], ['*.ready'], ['Sandbox.ready']])
      expect((await box.json('/v1/webhooks', { body: { name: 'odd', url: hub.url, events } })).status, String(events)).toBe(400);
  });

  it('do not slow a create: a hundred on a dead hub cost next to nothing', async () => {
    /** Medians of fifteen: what a caller waits for, and what this process works. */
    const measure = async (): Promise<{ readonly wallMs: number; readonly cpuMs: number }> => {
      const rounds: { wallMs: number; cpuMs: number }[] = [];
      for (let round = 0; round < 15; round += 1) {
        const [started, worked] = [performance.now(), process.cpuUsage()];
        const { body } = await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' } });
        const { user, system } = process.cpuUsage(worked);
        rounds.push({ wallMs: performance.now() - started, cpuMs: (user + system) / 1000 });
        await box.json(`/v1/sandboxes/${body.id}`, { method: 'DELETE' });
      }
      const median = (of: 'wallMs' | 'cpuMs'): number => rounds.map((round) => round[of]).sort((a, b) => a - b)[7] ?? Number.NaN;
      return { wallMs: median('wallMs'), cpuMs: median('cpuMs') };
    };
    await measure();
    const without = await measure();
    await hub.leave();
    for (let index = 0; index < 100; index += 1) await make(`dead-${index}`);
    const noticing = await measure();
    await until(
      async () => (await box.json<Page<Webhook>>('/v1/webhooks')).body.items.every(({ state }) => state === 'away'),
      'all to be noticed',
      30_000,
    );
    const away = await measure();
    await hub.comeBack();
    console.log(JSON.stringify({ without, noticing, away }));
    // A create that waited for one attempt of each would be far above; the rest is what a busy machine does to a median.
    expect(noticing.wallMs).toBeLessThan(without.wallMs * 3 + 100);
    expect(away.wallMs).toBeLessThan(without.wallMs * 2 + 30);
    expect(away.cpuMs).toBeLessThan(without.cpuMs * 1.5 + 5);
  }, 90_000);
});

describe('webhooks of the manifest', () => {
  let hub: Hub;
  beforeEach(async () => {
    hub = await startHub();
  });
  afterEach(() => hub.close());
  const manifest = (url: string): string => `version: 1\nwebhooks:\n  operator:\n    url: ${url}\n    secret_env: HUB_SECRET\n`;

  it('get events of all tenants, are read-only, and survive SIGKILL between event and delivery', async () => {
    const stateRoot = newStateRoot();
    writeFileSync(join(stateRoot, 'skillbox.yaml'), manifest(hub.url));
    const env = { HUB_SECRET: manifestSecret, SKILLBOX_LOG_LEVEL: 'debug' };
    let server = await startServerProcess({ stateRoot, env });
    try {
      const listed = await server.json<Page<Webhook>>('/v1/webhooks');
      expect(listed.body.items).toMatchObject([{ name: 'operator', tenant: null, source: 'manifest', events: ['sandbox.*'], state: 'ok' }]);
      const url = 'https://hub.example/';
      expect((await server.json('/v1/webhooks', { body: { name: 'operator', url } })).body).toMatchObject({
        error: 'declared_in_manifest',
      });
      expect((await server.json('/v1/webhooks/operator', { method: 'DELETE' })).body).toMatchObject({ error: 'declared_in_manifest' });

      // The hub hears, and never answers: the server dies with the deliveries under way and others not begun.
      hub.answer = () => () => undefined;
      const ids: string[] = [];
      for (const tenant of ['acme', 'other', 'acme', 'third', 'acme', 'other', 'acme'])
        ids.push((await server.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' }, headers: { 'X-Tenant-ID': tenant } })).body.id);
      await until(() => hub.received.length >= 4, 'deliveries under way');
      await server.kill();
      expect(hub.accepted()).toEqual([]);
      const heard = new Set(hub.received.map(({ id }) => id));

      hub.answer = () => 204;
      const firstLog = server.log();
      server = await startServerProcess({ stateRoot, env });
      for (const [index, id] of ids.entries()) {
        const headers = { 'X-Tenant-ID': ['acme', 'other', 'acme', 'third', 'acme', 'other', 'acme'][index] ?? '' };
        await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE', headers });
      }
      await until(() => hub.accepted().length === 35, 'all of them', 20_000);
      for (const id of ids)
        expect(
          hub
            .accepted()
            .filter(({ event }) => event.subject.id === id)
            .map(({ event }) => event.type),
        ).toEqual(lifecycle);
      // Those that were under way came again, under the same id.
      const taken = new Set(hub.accepted().map(({ id }) => id));
      expect([...heard].every((id) => taken.has(id))).toBe(true);
      expect(hub.received.every((one) => verifyDelivery(manifestSecret, one))).toBe(true);
      for (const log of [firstLog, server.log()]) expect(log).not.toContain(manifestSecret.slice(6));
    } finally {
      await server.stop();
      rmSync(stateRoot, { recursive: true, force: true });
    }
  }, 60_000);

  it('without their secret keep the box from starting, with the line that mends it', async () => {
    const stateRoot = newStateRoot();
    writeFileSync(join(stateRoot, 'skillbox.yaml'), manifest(hub.url));
    try {
      await expect(startTestBox({ SKILLBOX_STATE_ROOT: stateRoot })).rejects.toMatchObject({
        code: 'config_invalid',
        message: 'HUB_SECRET, which signs for the webhook operator of the manifest, is not set.',
        hint: expect.stringContaining('openssl rand -base64 32'),
      });
      for (const HUB_SECRET of ['short', 'whsec_c2hvcnQ=', 'whsec_%%%%'])
        await expect(startTestBox({ SKILLBOX_STATE_ROOT: stateRoot, HUB_SECRET })).rejects.toMatchObject({ code: 'config_invalid' });
      // Beside the manifest is a place for it too.
      writeFileSync(join(stateRoot, '.env'), `HUB_SECRET=${manifestSecret}\n`);
      const box = await startTestBox({ SKILLBOX_STATE_ROOT: stateRoot });
      expect((await box.json('/v1/webhooks/operator/test', { body: {} })).body).toMatchObject({ ok: true, status: 204 });
      expect(hub.received.every((one) => verifyDelivery(manifestSecret, one))).toBe(true);
      await box.stop();
    } finally {
      rmSync(stateRoot, { recursive: true, force: true });
    }
  });
});
