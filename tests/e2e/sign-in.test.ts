/** Signing in without typing a key: a code that works once becomes a key that may do no more, and ends with the one it came from. */

import type { ApiKey, BoxEvent, CreatedKey, SignInLink } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox();
});
afterAll(() => box.stop());

const link = async (key?: string, body: object = {}) =>
  (await box.json<SignInLink>('/v1/sign-in/links', { body, ...(key && { key }) })).body;
const exchange = (code: string) => box.json<CreatedKey & { error: string }>('/v1/sign-in', { body: { code }, key: null });
const self = (key: string) => box.json<ApiKey>('/v1/keys/self', { key });

describe('a sign-in link', () => {
  it('has a code behind the #, and no key anywhere', async () => {
    const { code, url, expires_at } = await link();
    expect(url).toBe(`${box.url}/ui/#sign-in=${code}`);
    expect(url).not.toContain(box.key.slice(3));
    expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(5 * 60_000);
  });

  it('becomes a key of the same tenant and scopes that ends within hours', async () => {
    const agent = await box.newKey('acme', ['skills:read', 'executions:read']);
    const { status, body } = await exchange((await link(agent)).code);
    expect(status).toBe(201);
    expect(body).toMatchObject({ tenant: 'acme', scopes: ['skills:read', 'executions:read'], parent: (await self(agent)).body.id });
    expect(Date.parse(body.expires_at ?? '') - Date.now()).toBeLessThanOrEqual(12 * 3600_000);
    expect((await self(body.key)).body.id).toBe(body.id);
    expect((await box.json('/v1/keys', { key: body.key })).status).toBe(403);
  });

  it('works once, also for two who come at the same moment', async () => {
    const { code } = await link();
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(code)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const { status, body } of refused) expect([status, body.error]).toEqual([403, 'sign_in_expired']);
  });

  it('is nothing after its time, and nothing for who guesses', async () => {
    const { code } = await link();
    await box.box.store.database.kysely
      .updateTable('sign_in_codes')
      .set({ expires_at: new Date(Date.now() - 1).toISOString() })
      .execute();
    for (const given of [code, 'x'.repeat(43)]) expect((await exchange(given)).body.error).toBe('sign_in_expired');
    expect((await exchange('short')).status).toBe(400);
  });

  it('can sign in to less, and never to more', async () => {
    const agent = await box.newKey('acme', ['skills:read', 'executions:read']);
    const { body } = await exchange((await link(agent, { scopes: ['skills:read'] })).code);
    expect(body.scopes).toEqual(['skills:read']);
    expect(await box.json('/v1/sign-in/links', { body: { scopes: ['admin'] }, key: agent })).toMatchObject({
      status: 403,
      body: { error: 'forbidden' },
    });
    // What was signed in with less passes on no more than that.
    expect((await box.json('/v1/sign-in/links', { body: { scopes: ['executions:read'] }, key: body.key })).status).toBe(403);
  });

  it('lasts no longer than the key it came from', async () => {
    const { body: short } = await box.json<CreatedKey>('/v1/keys', { body: { name: 'short', scopes: ['admin'], expires_in: '1h' } });
    const { body } = await exchange((await link(short.key)).code);
    expect(body.expires_at).toBe(short.expires_at);
  });

  it('ends with the key it came from, and so do those that came from it', async () => {
    const { body: parent } = await box.json<CreatedKey>('/v1/keys', { body: { name: 'parent', scopes: ['admin'] } });
    const child = (await exchange((await link(parent.key)).code)).body;
    const grandchild = (await exchange((await link(child.key)).code)).body;
    const waiting = await link(parent.key);
    expect((await self(grandchild.key)).status).toBe(200);
    await box.json(`/v1/keys/${parent.id}`, { method: 'DELETE' });
    for (const { key } of [parent, child, grandchild]) expect((await self(key)).status).toBe(401);
    expect((await exchange(waiting.code)).status).toBe(403);
  });
});

describe('signing out', () => {
  it('ends a key that was signed in with, and leaves one that was made', async () => {
    const signedIn = (await exchange((await link()).code)).body;
    expect((await box.request('/v1/sign-in', { method: 'DELETE', key: signedIn.key })).status).toBe(204);
    expect((await self(signedIn.key)).status).toBe(401);
    expect((await box.request('/v1/sign-in', { method: 'DELETE' })).status).toBe(204);
    expect((await self(box.key)).status).toBe(200);
  });
});

it('leaves no code in the database, the audit log or an event', async () => {
  const { code } = await link();
  const { kysely } = box.box.store.database;
  const stored = JSON.stringify([
    await kysely.selectFrom('sign_in_codes').selectAll().execute(),
    await kysely.selectFrom('events').selectAll().execute(),
  ]);
  expect(stored).not.toContain(code);
  const { items } = (await box.json<{ items: BoxEvent[] }>('/v1/events?type=audit.signin.link')).body;
  expect(items.length).toBeGreaterThan(0);
});
