/** Living sandboxes over the API: their life, their time, what a restart keeps and what a crash leaves. */

import type { Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxHandle } from '../../packages/box/src/sandbox/living.ts';
import { type RequestOptions, startTestBox, type TestBox } from '../support/box.ts';

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox();
});
afterAll(() => box.stop());

const create = async (body: Record<string, unknown> = {}, options: RequestOptions = {}): Promise<Sandbox> => {
  const answer = await box.json<Sandbox>('/v1/sandboxes', { body, ...options });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body;
};
const destroy = (id: string) => box.json<Sandbox>(`/v1/sandboxes/${id}`, { method: 'DELETE' });

it('makes, shows, lists and destroys', async () => {
  const made = await create({ template: 'base', labels: { owner: 'ann' } });
  expect(made).toMatchObject({ state: 'ready', template: 'base@1', provider: 'bubblewrap', tier: 'namespaces', labels: { owner: 'ann' } });
  expect(await sh(made.id, 'echo hello')).toBe('hello\n');
  const { body } = await box.json<Page<Sandbox>>(`/v1/sandboxes?labels=${encodeURIComponent('owner=ann')}`);
  expect(body.items).toEqual([made]);
  expect((await destroy(made.id)).body).toMatchObject({ state: 'destroyed' });
  expect((await destroy(made.id)).body).toMatchObject({ state: 'destroyed' });
});

async function sh(id: string, script: string): Promise<string> {
  const { handle, done } = await box.box.sandboxes.use('default', id);
  try {
    return await output(handle, script, box.box.sandboxes.nextProgramId(id));
  } finally {
    done();
  }
}

async function output(handle: SandboxHandle, script: string, id: number): Promise<string> {
  const program = await handle.start({
    id,
    argv: ['/bin/sh', '-c', script],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/home/user',
    stdin: false,
  });
  let text = '';
  for await (const event of program.events) if (event.type === 'stdout' || event.type === 'stderr') text += event.bytes.toString();
  return text;
}
