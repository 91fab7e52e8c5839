/** Callers that go away before they are answered: nothing to be alarmed about, unless something is broken too. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { modernRequest } from '../support/mcp.ts';

let box: TestBox;
let sandbox: string;

beforeAll(async () => {
  box = await startTestBox();
  sandbox = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base' } })).body.id;
});
afterAll(() => box.stop());
afterEach(() => vi.restoreAllMocks());

/** Asks, and leaves once the program of that name runs. */
async function leaveDuring(path: string, body: unknown, mark: string, headers: Record<string, string> = {}): Promise<void> {
  const patience = new AbortController();
  const asked = box.request(path, { body, headers, signal: patience.signal }).then(
    () => 'answered',
    () => 'left',
  );
  const runs = { cmd: `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -x MARK=${mark}` };
  await expect
    .poll(async () => (await box.json(`/v1/sandboxes/${sandbox}/programs`, { body: runs })).body.exit_code, { timeout: 10_000 })
    .toBe(0);
  patience.abort();
  expect(await asked).toBe('left');
}

const program = (mark: string) => ({ cmd: 'sleep 60', env: { MARK: mark } });

it('who leaves while a program runs is a line for debugging, and no 500 in the metrics', async () => {
  const error = vi.spyOn(box.box.log, 'error');
  const debug = vi.spyOn(box.box.log, 'debug');
  await leaveDuring(`/v1/sandboxes/${sandbox}/programs`, program('rest'), 'rest');
  const left = expect.objectContaining({ route: '/v1/sandboxes/:id/programs' });
  await expect.poll(() => debug.mock.calls).toContainEqual([left, 'a caller went away before its answer']);
  const metrics = await (await box.request('/metrics')).text();
  expect(metrics).toMatch(/skillbox_http_requests_total\{[^}]*route="\/v1\/sandboxes\/:id\/programs"[^}]*status="499"[^}]*\} 1/);
  expect(metrics).not.toMatch(/route="\/v1\/sandboxes\/:id\/programs"[^}]*status="500"/);
  expect(error).not.toHaveBeenCalled();
}, 20_000);

it('so is an MCP client that takes a call back', async () => {
  const error = vi.spyOn(box.box.log, 'error');
  const debug = vi.spyOn(box.box.log, 'debug');
  const { body, headers } = modernRequest('tools/call', {
    name: 'skillbox_sandbox_exec',
    arguments: { id: sandbox, ...program('mcp') },
  });
  await leaveDuring('/mcp', body, 'mcp', headers);
  await expect.poll(() => debug.mock.calls.map(([, said]) => said)).toContain('a request was taken back');
  expect(error).not.toHaveBeenCalled();
}, 20_000);

it('a fault is an error, also when nobody is there to hear of it', async () => {
  const error = vi.spyOn(box.box.log, 'error').mockImplementation(() => undefined);
  const patience = new AbortController();
  const broken = new TypeError('something is broken');
  vi.spyOn(box.box.sandboxes, 'list').mockImplementation(async () => {
    patience.abort();
    await sleep(200);
    throw broken;
  });
  await expect(box.request('/v1/sandboxes', { signal: patience.signal })).rejects.toThrow();
  await expect.poll(() => error.mock.calls).toContainEqual([expect.objectContaining({ err: broken }), 'a request failed']);
});
