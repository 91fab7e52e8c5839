/** Who may see and change the environment of the box: not a tenant, unless its key says so, and reading is not changing. */

import type { CreatedKey, Scope } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { graphEnv } from '../support/graph-box.ts';

let box: TestBox;
const keys: Record<string, string> = {};

beforeAll(async () => {
  box = await startTestBox(graphEnv());
  const { body } = await box.json<CreatedKey>('/v1/keys', { body: { name: 'usual', tenant: 'acme' } });
  keys.usual = body.key;
  for (const [name, scopes] of Object.entries({
    others: ['skills:read', 'skills:write', 'executions:read', 'executions:run', 'sandboxes:read', 'sandboxes:use', 'secrets:manage'],
    reader: ['graph:read'],
    writer: ['graph:use'],
  } satisfies Record<string, Scope[]>))
    keys[name] = await box.newKey('acme', scopes);
});
afterAll(() => box.stop());

const graph = commands.filter(({ scope }) => scope?.startsWith('graph:'));
const status = async (key: string | undefined, { http }: (typeof graph)[number]) => {
  const path = http.path.replace(':id', '20260102-030405-0a1b2c');
  const body = http.method === 'GET' ? {} : { body: { nonsense: true } };
  const answer = await box.json(path, { ...body, method: http.method, ...(key !== undefined && { key }) });
  return { status: answer.status, message: String(answer.body.message ?? '') };
};

it('are commands of reading and of changing, by their effect', () => {
  expect(graph.length).toBeGreaterThan(15);
  for (const { name, scope, effect, audited } of graph) {
    expect([name, scope]).toEqual([name, effect === 'read' ? 'graph:read' : 'graph:use']);
    expect([name, audited]).toEqual([name, effect === 'change' ? true : undefined]);
  }
});

describe.each(graph.map((command) => [command.name, command] as const))('%s', (_name, command) => {
  it('is refused to a key that was made for work in a tenant, before anything is looked at', async () => {
    for (const key of [keys.usual, keys.others]) {
      const answer = await status(key, command);
      expect(answer).toEqual({ status: 403, message: expect.stringContaining(command.scope ?? '') });
    }
  });

  it('needs exactly its own of the two', async () => {
    const [may, mayNot] = command.effect === 'read' ? [keys.reader, keys.writer] : [keys.writer, keys.reader];
    expect((await status(mayNot, command)).status).toBe(403);
    expect((await status(may, command)).status).not.toBe(403);
  });
});

it('a link to the dashboard gives no more than the key had', async () => {
  const link = await box.json<{ code: string }>('/v1/sign-in/links', { body: {}, key: keys.reader ?? '' });
  const signedIn = await box.json<CreatedKey>('/v1/sign-in', { body: { code: link.body.code }, key: null });
  expect(signedIn.body.scopes).toEqual(['graph:read']);
  expect((await box.json('/v1/runtime/sync', { body: {}, key: signedIn.body.key })).status).toBe(403);
});
