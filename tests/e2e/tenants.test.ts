/** Two tenants and every route: what is A's does not exist for B, and no answer tells otherwise. */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiKey, type CreatedKey, type Execution, type Sandbox, type Scope, type Snapshot, scopes } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Command } from '../../packages/box/src/commands/command.ts';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { type RequestOptions, startTestBox, type TestBox } from '../support/box.ts';
import { builtDependencies } from '../support/skills.ts';
import { echoSkill, shellSkill, zipOf } from './wire.ts';

/** All that a tenant's key has: admin and graph:* reach over the whole box, so who has them is no mere tenant. */
const allScopes = scopes.filter((scope): scope is Scope => scope !== 'admin' && !scope.startsWith('graph:'));
let box: TestBox;
let keyA: string;
let keyB: string;
let keyIdA: string;
let done: Execution;
let running: string;
let sandboxOfA: string;
let snapshotIdOfA: string;
let programOfA: string;
let stateOfA: unknown;

beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_PIP_INDEX: 'http://index.invalid/simple/' });
  keyA = await box.newKey('tenant-a', [...allScopes]);
  keyB = await box.newKey('tenant-b', [...allScopes]);
  const { body } = await box.json<{ items: ApiKey[] }>('/v1/keys?tenant=tenant-a');
  keyIdA = body.items[0]?.id ?? '';
  await box.push(shellSkill('private', { description: 'A secretive thing.' }), keyA);
  await box.push({ ...echoSkill('needy'), 'requirements.txt': 'nothing-there==1.0\n' }, keyA);
  await builtDependencies(box, 'needy', { key: keyA });
  done = await box.run(
    'private',
    { env: { RUN: 'echo secret; echo data > "$SANDBOX_FILES_DIR/a.txt"; echo 1 > "$SANDBOX_OUTPUT"' } },
    keyA,
  );
  const started = await box.json<Execution>('/v1/executions', {
    body: { skill: 'private', env: { RUN: 'echo live; sleep 290' }, timeout: '5m', wait: false },
    key: keyA,
  });
  running = started.body.execution_id;
  const sandbox = await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' }, key: keyA });
  sandboxOfA = sandbox.body.id;
  for (const name of ['a.txt', 'b.txt', 'gone.txt'])
    await box.request(`/v1/sandboxes/${sandboxOfA}/files?path=${name}`, { method: 'PUT', body: 'secret', key: keyA });
  const program = { cmd: 'sleep 600', pty: {}, wait: false };
  const asleep = await box.json<{ program_id: number }>(`/v1/sandboxes/${sandboxOfA}/programs`, { body: program, key: keyA });
  programOfA = String(asleep.body.program_id);
  const kept = await box.json<Snapshot>(`/v1/sandboxes/${sandboxOfA}/snapshots`, { body: { name: 'secret' }, key: keyA });
  snapshotIdOfA = kept.body.id;
  await delay(200);
  await box.json('/v1/credits/grants', { body: { tenant: 'tenant-a', amount: 7 } });
  for (const name of ['TOKEN', 'ONLY_A'])
    await box.json(`/v1/secrets/${name}`, { method: 'PUT', body: { value: 'secret-of-a' }, key: keyA });
  const hook = { name: 'hub-of-a', url: 'https://hub.example/', events: ['skill.never'] };
  await box.json('/v1/webhooks', { body: hook, headers: { 'X-Tenant-ID': 'tenant-a' } });
  stateOfA = await snapshotOfA();
});
afterAll(async () => {
  await box.request(`/v1/sandboxes/${sandboxOfA}`, { method: 'DELETE', key: keyA });
  await box.json(`/v1/executions/${running}/cancel`, { method: 'POST', key: keyA });
  await box.stop();
});

/** Whatever B does, this stays the same. */
async function snapshotOfA(): Promise<unknown> {
  const read = async (path: string) => (await box.json(path, { key: keyA })).body;
  const { kysely } = box.box.store.database;
  return {
    skills: await read('/v1/skills'),
    versions: await read('/v1/skills/private/versions'),
    executions: await read('/v1/executions'),
    sandboxes: await read('/v1/sandboxes'),
    snapshots: await read('/v1/snapshots'),
    usage: await kysely.selectFrom('tenant_usage').selectAll().where('tenant', '=', 'tenant-a').execute(),
    keys: await kysely.selectFrom('api_keys').select(['id', 'revoked_at']).where('tenant', '=', 'tenant-a').execute(),
    limits: box.box.tenants.limits('tenant-a'),
    credits: await read('/v1/credits'),
    secrets: await kysely.selectFrom('secrets').selectAll().where('tenant', '=', 'tenant-a').execute(),
    webhooks: await kysely.selectFrom('webhooks').selectAll().where('tenant', '=', 'tenant-a').execute(),
    files: await read(`/v1/sandboxes/${sandboxOfA}/files/list`),
    programs: await read(`/v1/sandboxes/${sandboxOfA}/programs`),
  };
}

interface Call {
  readonly params?: Record<string, string>;
  readonly query?: string;
  readonly options?: RequestOptions;
}

interface Case {
  /** A's own thing, by its true name. */
  theirs(): Call | Promise<Call>;
  /** The same call for something that is nobody's. */
  absent(): Call | Promise<Call>;
  /** What B gets for both. `own`: B's own answer, checked by `check`. */
  readonly outcome: 404 | 403 | 'own' | 'public';
  check?(body: unknown, status: number): void;
  /** A's own call of it would change A, or not end. */
  readonly leavesNothingSame?: true;
}

const executionCase = (path: Record<string, string> = {}, ids = (): [string, string] => [done.execution_id, randomUUID()]): Case => ({
  theirs: () => ({ params: { id: ids()[0], ...path } }),
  absent: () => ({ params: { id: ids()[1], ...path } }),
  outcome: 404,
});
/** Something in A's sandbox. */
const insideCase = (call: Omit<Call, 'params'> & { readonly params?: () => Record<string, string> } = {}): Case => {
  const inside = (id: string): Call => ({ ...call, params: { id, ...call.params?.() } });
  return { theirs: () => inside(sandboxOfA), absent: () => inside(`i${'0'.repeat(19)}`), outcome: 404 };
};
const program = (): Record<string, string> => ({ program: programOfA });
const sandboxCase = (call: Call = {}): Case => ({
  theirs: () => ({ ...call, params: { id: sandboxOfA, ...call.params } }),
  absent: () => ({ ...call, params: { id: `i${'0'.repeat(19)}`, ...call.params } }),
  outcome: 404,
});
const changing = (of: Case): Case => ({ ...of, leavesNothingSame: true });
const posted = (body: unknown = {}): Call => ({ options: { body } });
const namedSkill = (name: string, version: string): Call => ({ params: { name, version } });
const empty = (body: unknown): void => expect(body).toEqual({ items: [], next_cursor: null });
const upload = async (files: Record<string, string>): Promise<Call> => ({
  options: { body: new Uint8Array(await zipOf(files)), headers: { 'Content-Type': 'application/zip' } },
});

/** One for each command: a new route without one fails. */
const cases: Record<string, Case> = {
  // The same name and version as A's, with other content: B knows nothing of a conflict.
  'skill.push': {
    theirs: () => upload(echoSkill('private')),
    absent: () => upload(echoSkill('nobodys')),
    outcome: 'own',
    check: (_body, status) => expect(status).toBe(201),
  },
  'skill.list': { theirs: () => ({}), absent: () => ({}), outcome: 'own', check: empty },
  'skill.search': {
    theirs: () => ({ query: 'q=secretive' }),
    absent: () => ({ query: 'q=zebra' }),
    outcome: 'own',
    check: empty,
  },
  'skill.versions': { theirs: () => ({ params: { name: 'private' } }), absent: () => ({ params: { name: 'nobodys' } }), outcome: 404 },
  'skill.show': { theirs: () => namedSkill('private', '1.0.0'), absent: () => namedSkill('nobodys', '1.0.0'), outcome: 404 },
  'skill.file': {
    theirs: () => ({ params: { ...namedSkill('private', '1.0.0').params, path: 'SKILL.md' } }),
    absent: () => ({ params: { ...namedSkill('nobodys', '1.0.0').params, path: 'SKILL.md' } }),
    outcome: 404,
  },
  'skill.build': {
    theirs: () => ({ ...namedSkill('needy', '1.0.0'), ...posted() }),
    absent: () => ({ ...namedSkill('nobodys', '1.0.0'), ...posted() }),
    outcome: 404,
  },
  'skill.build-log': { theirs: () => namedSkill('needy', '1.0.0'), absent: () => namedSkill('nobodys', '1.0.0'), outcome: 404 },
  'skill.delete': { theirs: () => namedSkill('private', '1.0.0'), absent: () => namedSkill('nobodys', '1.0.0'), outcome: 404 },
  'execution.create': {
    theirs: () => ({ options: { body: { skill: 'private' } } }),
    absent: () => ({ options: { body: { skill: 'nobodys' } } }),
    outcome: 404,
  },
  'execution.list': {
    theirs: () => ({ query: 'skill=private' }),
    absent: () => ({ query: 'skill=nobodys' }),
    outcome: 'own',
    check: empty,
  },
  'execution.figures': {
    theirs: () => ({ query: 'skill=private&window=24h' }),
    absent: () => ({ query: 'skill=nobodys&window=24h' }),
    outcome: 'own',
    check: (body) => expect(body).toMatchObject({ running: 0, points: [], skills: [] }),
  },
  'execution.get': executionCase(),
  'execution.logs': executionCase(),
  'execution.events': executionCase({}, () => [running, randomUUID()]),
  'execution.cancel': executionCase({}, () => [running, randomUUID()]),
  'execution.delete': executionCase(),
  'execution.files': executionCase(),
  'execution.archive': executionCase(),
  'execution.file': executionCase({ path: 'a.txt' }),
  'sandbox.exec': insideCase({ options: { body: { cmd: 'true' } } }),
  'sandbox.programs': insideCase(),
  'sandbox.program': insideCase({ params: program }),
  'sandbox.output': insideCase({ params: program }),
  'sandbox.stdin': insideCase({ params: program, options: { body: { data: 'x' } } }),
  'sandbox.stdin.close': insideCase({ params: program }),
  'sandbox.signal': insideCase({ params: program, options: { body: { signal: 'CONT' } } }),
  'sandbox.resize': insideCase({ params: program, options: { body: { cols: 90, rows: 30 } } }),
  'sandbox.file.read': insideCase({ query: 'path=a.txt' }),
  'sandbox.file.write': insideCase({ query: 'path=a.txt', options: { body: new Uint8Array([1]) } }),
  'sandbox.file.stat': insideCase({ query: 'path=a.txt' }),
  'sandbox.file.list': insideCase(),
  'sandbox.file.mkdir': insideCase({ options: { body: { path: 'made' } } }),
  'sandbox.file.move': insideCase({ options: { body: { from: 'b.txt', to: 'c.txt' } } }),
  'sandbox.file.remove': insideCase({ query: 'path=gone.txt' }),
  'sandbox.file.watch': insideCase(),
  'sandbox.preview': insideCase({ params: () => ({ port: '8000' }), options: { body: {} } }),
  'sandbox.metrics': insideCase(),
  'sandbox.create': {
    theirs: () => posted({ snapshot: snapshotIdOfA }),
    absent: () => posted({ snapshot: `s${'0'.repeat(19)}` }),
    outcome: 404,
    leavesNothingSame: true,
  },
  'sandbox.list': { theirs: () => ({}), absent: () => ({}), outcome: 'own', check: empty },
  'sandbox.get': sandboxCase(),
  'sandbox.destroy': changing(sandboxCase()),
  'sandbox.recreate': changing(sandboxCase(posted())),
  'sandbox.ttl': changing(sandboxCase(posted({ ttl: '2h' }))),
  'sandbox.network': changing(sandboxCase(posted({ mode: 'none' }))),
  'sandbox.pause': changing(sandboxCase(posted())),
  'sandbox.resume': changing(sandboxCase(posted())),
  'sandbox.snapshot': changing(sandboxCase(posted())),
  'sandbox.restore': changing(sandboxCase(posted({ snapshot: `s${'1'.repeat(19)}` }))),
  'sandbox.fork': changing(sandboxCase(posted())),
  'sandbox.events': sandboxCase(),
  'snapshot.list': { theirs: () => ({}), absent: () => ({}), outcome: 'own', check: empty },
  'snapshot.delete': {
    theirs: () => ({ params: { id: snapshotIdOfA } }),
    absent: () => ({ params: { id: `s${'0'.repeat(19)}` } }),
    outcome: 404,
    leavesNothingSame: true,
  },
  // Templates are the box's, not a tenant's.
  'template.list': { theirs: () => ({}), absent: () => ({}), outcome: 'public' },
  'template.show': { theirs: () => ({ params: { name: 'base' } }), absent: () => ({ params: { name: 'base' } }), outcome: 'public' },
  'template.apply': {
    theirs: () => ({ params: { name: 'base' }, ...posted() }),
    absent: () => ({ params: { name: 'nobodys' }, ...posted() }),
    outcome: 403,
  },
  'credits.show': {
    theirs: () => ({}),
    absent: () => ({}),
    outcome: 'own',
    check: (body) => expect(body).toEqual({ tenant: 'tenant-b', available: 0, held: 0, spent: 0, granted: 0 }),
  },
  'credits.history': { theirs: () => ({}), absent: () => ({}), outcome: 'own', check: empty },
  'credits.grant': {
    theirs: () => ({ options: { body: { tenant: 'tenant-a', amount: 1 } } }),
    absent: () => ({ options: { body: { tenant: 'nobodys', amount: 1 } } }),
    outcome: 403,
  },
  // The same name as A's: B's own, and A's stays.
  'secret.set': {
    theirs: () => ({ params: { name: 'TOKEN' }, options: { body: { value: 'secret-of-b' } } }),
    absent: () => ({ params: { name: 'NOBODYS' }, options: { body: { value: 'secret-of-b' } } }),
    outcome: 'own',
    check: (body) => expect(Object.keys(body as object).sort()).toEqual(['created_at', 'name', 'updated_at', 'updated_by']),
    leavesNothingSame: true,
  },
  'secret.list': {
    theirs: () => ({}),
    absent: () => ({}),
    outcome: 'own',
    check: (body) => expect(JSON.stringify(body)).not.toContain('secret-of'),
  },
  'secret.delete': {
    theirs: () => ({ params: { name: 'ONLY_A' } }),
    absent: () => ({ params: { name: 'NOBODYS' } }),
    outcome: 404,
    leavesNothingSame: true,
  },
  // A key signs in to what it may itself; what becomes of a code is in sign-in.test.ts.
  'signin.link': {
    theirs: () => ({ options: { body: {} } }),
    absent: () => ({ options: { body: {} } }),
    outcome: 'own',
    check: (body) => expect(body).toMatchObject({ code: expect.any(String) }),
  },
  'signin.exchange': {
    theirs: () => ({ options: { body: { code: 'a'.repeat(43) } } }),
    absent: () => ({ options: { body: { code: 'b'.repeat(43) } } }),
    outcome: 403,
  },
  'signin.end': { theirs: () => ({}), absent: () => ({}), outcome: 'own' },
  'key.self': {
    theirs: () => ({}),
    absent: () => ({}),
    outcome: 'own',
    check: (body) => expect(body).toMatchObject({ tenant: 'tenant-b' }),
  },
  'key.create': {
    theirs: () => ({ options: { body: { name: 'mine', tenant: 'tenant-a' } } }),
    absent: () => ({ options: { body: { name: 'mine', tenant: 'nobodys' } } }),
    outcome: 403,
  },
  'key.list': { theirs: () => ({ query: 'tenant=tenant-a' }), absent: () => ({ query: 'tenant=nobodys' }), outcome: 403 },
  'key.revoke': { theirs: () => ({ params: { id: keyIdA } }), absent: () => ({ params: { id: 'key_0000000000000000' } }), outcome: 403 },
  'tenant.list': { theirs: () => ({}), absent: () => ({}), outcome: 403 },
  'tenant.set': {
    theirs: () => ({ params: { name: 'tenant-a' }, options: { body: { slots: 1 } } }),
    absent: () => ({ params: { name: 'nobodys' }, options: { body: { slots: 1 } } }),
    outcome: 403,
  },
  'event.list': {
    theirs: () => ({ query: `subject=execution:${done.execution_id}` }),
    absent: () => ({ query: `subject=execution:${randomUUID()}` }),
    outcome: 403,
  },
  // What each hears of it is in event-stream.test.ts.
  'event.follow': { theirs: () => ({}), absent: () => ({}), outcome: 'own' },
  // Of administrators only; what an administrator who acts for another tenant sees is in webhooks.test.ts.
  'webhook.create': {
    theirs: () => posted({ name: 'hub', url: 'https://hub.example/' }),
    absent: () => posted({ name: 'nobodys', url: 'https://hub.example/' }),
    outcome: 403,
  },
  'webhook.list': { theirs: () => ({}), absent: () => ({}), outcome: 403 },
  ...Object.fromEntries(
    ['show', 'delete', 'test', 'deliveries', 'retry'].map((verb): [string, Case] => {
      const body = ['test', 'retry'].includes(verb) ? posted() : {};
      const named = (name: string): Call => ({ ...body, params: { name } });
      return [`webhook.${verb}`, { theirs: () => named('hub-of-a'), absent: () => named('nobodys'), outcome: 403 }];
    }),
  ),
  'route.explain': {
    theirs: () => ({ params: { name: 'canary' } }),
    absent: () => ({ params: { name: 'canary' } }),
    outcome: 'own',
    check: (body) => expect(body).toMatchObject({ template: 'canary@1', route: [{ provider: 'bubblewrap', taken: true }] }),
  },
  'host.inspect': { theirs: () => ({}), absent: () => ({}), outcome: 403 },
  'host.doctor': { theirs: () => ({}), absent: () => ({}), outcome: 403 },
  'host.stale': { theirs: () => ({}), absent: () => ({}), outcome: 403 },
  'host.canary': { theirs: () => ({ options: { body: {} } }), absent: () => ({ options: { body: {} } }), outcome: 403 },
  'host.reap': { theirs: () => ({ options: { body: {} } }), absent: () => ({ options: { body: {} } }), outcome: 403 },
  'box.health': { theirs: () => ({}), absent: () => ({}), outcome: 'public' },
  'box.ready': { theirs: () => ({}), absent: () => ({}), outcome: 'public' },
  // The environment is the box's, with all its clients: only graph:read and graph:use see and change it.
  ...Object.fromEntries(
    commands
      .filter(({ scope }) => scope?.startsWith('graph:'))
      .map(({ name, http }): [string, Case] => {
        const call = (client: string): Call => ({
          ...(http.path.includes(':id') && { params: { id: '20260102-030405-0a1b2c' } }),
          ...(http.method === 'GET' ? { query: `client=${client}` } : posted({ client })),
        });
        return [name, { theirs: () => call('tenant-a'), absent: () => call('nobodys'), outcome: 403 }];
      }),
  ),
};

const named = commands.map((command) => [command.name, command] as const);
const guarded = named.filter(([, command]) => command.scope !== null);
const scoped = guarded.filter(([, command]) => command.scope !== 'any');

function caseOf(command: Command): Case {
  const found = cases[command.name];
  if (!found) throw new Error(`${command.name} has no case: say here what another tenant may see of it.`);
  return found;
}

async function call(command: Command, { params = {}, query, options = {} }: Call, more: RequestOptions) {
  const path = command.http.path.replace(/:(\w+)\*?/g, (_, name: string) => params[name] ?? `unset-${name}`);
  const response = await box.request(query ? `${path}?${query}` : path, {
    method: command.http.method,
    ...options,
    ...more,
    headers: { ...options.headers, ...more.headers },
  });
  // Some streams do not end by themselves.
  if (response.ok && command.output.kind === 'events') await response.body?.cancel();
  const text = response.bodyUsed ? '' : await response.text();
  return { status: response.status, headers: response.headers, body: text ? (JSON.parse(text) as Record<string, unknown>) : null };
}

/** An answer without what must differ: the request id, and the name that was asked for. */
function comparable(answer: { status: number; body: unknown; headers: Headers }, { params = {}, options = {} }: Call): unknown {
  const { skill, snapshot } = (options.body ?? {}) as { skill?: string; snapshot?: string };
  const asked = [params.id, params.name, skill, snapshot].filter((name) => name !== undefined);
  let text = JSON.stringify(answer.body);
  for (const name of asked) text = text.replaceAll(name, 'NAME');
  const { request_id: _id, ...body } = JSON.parse(text) as Record<string, unknown>;
  const headers = [...answer.headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name));
  return { status: answer.status, body, headers };
}

/** The answer to A's thing; fails when it differs from the answer to nobody's. */
async function indistinguishable(command: Command, more: RequestOptions) {
  const { theirs, absent } = caseOf(command);
  const [existing, missing] = [await theirs(), await absent()];
  const answer = await call(command, existing, more);
  expect(comparable(answer, existing)).toEqual(comparable(await call(command, missing, more), missing));
  return answer;
}

it('covers every command, and nothing that is none', () => {
  expect(Object.keys(cases).sort()).toEqual(commands.map(({ name }) => name).sort());
});

describe.each(named)('%s', (_name, command) => {
  const { outcome, check } = cases[command.name] ?? {};

  it('tells B nothing of what is A’s', async () => {
    if (outcome === 'own') {
      const answer = await call(command, await caseOf(command).theirs(), { key: keyB });
      expect(answer.status).toBeLessThan(300);
      check?.(answer.body, answer.status);
    } else {
      const { status } = await indistinguishable(command, { key: keyB });
      expect(status).toBe(outcome === 'public' ? 200 : outcome);
    }
    expect(await snapshotOfA()).toEqual(stateOfA);
    // So that the next route finds B as empty as this one did.
    if (command.name === 'skill.push') await box.request('/v1/skills/private/1.0.0', { method: 'DELETE', key: keyB });
  });
});

it('lets A do with its own what B could not, so that the cases above can fail', async () => {
  for (const [, command] of named.filter(
    ([name]) =>
      cases[name]?.outcome === 404 &&
      !cases[name]?.leavesNothingSame &&
      !['skill.delete', 'execution.delete', 'execution.cancel', 'execution.events'].includes(name),
  )) {
    const { params, query, ...rest } = await caseOf(command).theirs();
    const bare = command.http.path.replace(/:(\w+)\*?/g, (_, key: string) => params?.[key] ?? '');
    const path = query ? `${bare}?${query}` : bare;
    const { headers, body } = rest.options ?? {};
    const response = await box.request(path, {
      method: command.http.method,
      key: keyA,
      ...(headers && { headers }),
      ...(body !== undefined && { body }),
    });
    expect([command.name, response.ok]).toEqual([command.name, true]);
    // Some streams do not end by themselves.
    await response.body?.cancel();
  }
  await builtDependencies(box, 'needy', { key: keyA });
  stateOfA = await snapshotOfA();
});

describe('without a good key', () => {
  const bad: Record<string, string | null> = { none: null, wrong: `sk-${'0'.repeat(48)}`, malformed: 'sk-nonsense', empty: '' };
  beforeAll(async () => {
    const create = async (more: object) =>
      (await box.json<CreatedKey>('/v1/keys', { body: { name: 'short', tenant: 'tenant-a', scopes: ['admin'], ...more } })).body;
    const revoked = await create({});
    expect(await box.json('/v1/skills', { key: revoked.key })).toMatchObject({ status: 200 });
    expect(await box.json(`/v1/keys/${revoked.id}`, { method: 'DELETE' })).toMatchObject({
      status: 200,
      body: { revoked_at: expect.any(String) },
    });
    const expired = await create({ expires_in: '1ms' });
    await delay(5);
    Object.assign(bad, { revoked: revoked.key, expired: expired.key });
    stateOfA = await snapshotOfA();
  });

  it.each(guarded)('%s is 401, the same for every reason and whatever exists', async (_name, command) => {
    for (const key of Object.values(bad)) {
      const answer = await indistinguishable(command, { key });
      expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized' } });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.body).not.toHaveProperty('details');
    }
    const { request_id: _a, ...wrong } = (await indistinguishable(command, { key: bad.wrong })).body as Record<string, unknown>;
    for (const reason of ['revoked', 'expired', 'malformed']) {
      const { request_id: _b, ...other } = (await indistinguishable(command, { key: bad[reason] ?? '' })).body as Record<string, unknown>;
      expect(other).toEqual(wrong);
    }
    expect(await snapshotOfA()).toEqual(stateOfA);
  });

  it('other schemes are 401 too, and the E2B spelling of a key is the key', async () => {
    for (const Authorization of [`Basic ${keyA}`, keyA, `Bearer  ${keyA}`, `Bearer ${keyA} x`])
      expect(await box.json('/v1/skills', { key: null, headers: { Authorization } })).toMatchObject({ status: 401 });
    expect(await box.json('/v1/skills', { key: keyA.replace('sk-', 'e2b_') })).toMatchObject({ status: 200 });
  });
});

describe('without the scope', () => {
  it.each(scoped)('%s is 403, whatever exists', async (_name, command) => {
    const others = allScopes.filter((scope) => scope !== command.scope);
    for (const tenant of ['tenant-a', 'tenant-b']) {
      const key = await box.newKey(tenant, [...others]);
      const answer = await indistinguishable(command, { key });
      expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden', message: expect.stringContaining(command.scope ?? '') } });
    }
    const { keys: _before, ...before } = stateOfA as Record<string, unknown>;
    const { keys: _after, ...after } = (await snapshotOfA()) as Record<string, unknown>;
    expect(after).toEqual(before);
  });
});

describe('X-Tenant-ID', () => {
  it.each(guarded)('%s: another tenant’s name is 403, one that exists or not', async (_name, command) => {
    const there = await call(command, await caseOf(command).theirs(), { key: keyB, headers: { 'X-Tenant-ID': 'tenant-a' } });
    const nowhere = await call(command, await caseOf(command).theirs(), { key: keyB, headers: { 'X-Tenant-ID': 'nobodys' } });
    for (const answer of [there, nowhere]) expect(answer).toMatchObject({ status: 403, body: { error: 'tenant_mismatch' } });
    expect(comparable(there, {})).toEqual(comparable(nowhere, {}));
  });

  it('of one’s own changes nothing, and administrators act for whom they name', async () => {
    expect(await box.json('/v1/skills', { key: keyA, headers: { 'X-Tenant-ID': 'tenant-a' } })).toMatchObject({ status: 200 });
    const asA = { 'X-Tenant-ID': 'tenant-a' };
    expect(await box.json(`/v1/executions/${done.execution_id}`, { headers: asA })).toMatchObject({ status: 200 });
    expect(await box.json(`/v1/executions/${done.execution_id}`)).toMatchObject({ status: 404 });
    expect(await box.json('/v1/skills', { headers: { 'X-Tenant-ID': '../x' } })).toMatchObject({ status: 400 });
  });
});

it('gives no tenant a way to guess: ids of executions and keys are random', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, async () => (await box.run('private', {}, keyA)).execution_id));
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/);
  expect(new Set(ids.map((id) => id.slice(0, 8))).size).toBe(5);
});

it('stores of a key only its hash, shows it once, and keeps it out of audit and lists', async () => {
  const { body } = await box.json<CreatedKey>('/v1/keys', { body: { name: 'once', tenant: 'tenant-a' } });
  expect(body.key).toMatch(/^sk-[0-9a-f]{48}$/);
  const { kysely } = box.box.store.database;
  const stored = JSON.stringify([
    await kysely.selectFrom('api_keys').selectAll().execute(),
    await kysely.selectFrom('events').selectAll().execute(),
  ]);
  const listed = JSON.stringify((await box.json('/v1/keys?limit=500')).body);
  for (const text of [stored, listed]) {
    expect(text).toContain(body.id);
    expect(text).not.toContain(body.key.slice(3));
  }
  expect((await box.json('/v1/skills', { key: body.key })).status).toBe(200);
  const { items } = (await box.json<{ items: ApiKey[] }>('/v1/keys?tenant=tenant-a')).body;
  expect(items[0]).toMatchObject({ id: body.id, name: 'once', actor: 'agt', revoked_at: null, expires_at: null });
  expect(Date.parse(items[0]?.last_used_at ?? '')).toBeGreaterThan(Date.now() - 10_000);
});
