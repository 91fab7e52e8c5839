/** Long work on the environment, heard over HTTP and MCP while it goes on, and logs as they are written: a real server, real programs. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import {
  errorBody,
  focusReport,
  type RuntimeStatus,
  syncReport,
  upReport,
  type WorkProgress,
  type WorkStep,
  workProgress,
} from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { readEvents } from '../../packages/box/src/cli/event-stream.ts';
import type { StreamEvent } from '../../packages/box/src/commands/command.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { connect } from '../support/mcp.ts';

const secret = 'abcdefgh12345678';
const manifest = {
  version: 1,
  graph: {
    tasks: [
      { id: 'gated', command: 'until [ -e go ]; do sleep 0.05; done; echo made > made.txt', outputs: ['made.txt'] },
      { id: 'endless', command: 'touch endless-began; exec sleep 600', outputs: ['never.txt'], profiles: ['surfaces'] },
    ],
    services: [
      { id: 'web', command: 'echo hello from web; exec sleep 600', bootstrap_tasks: ['gated'] },
      { id: 'broken', command: `echo API_TOKEN=${secret}; echo the last straw; exit 3` },
    ],
  },
};
const overlay = {
  version: 1,
  client: {
    id: 'acme',
    repos: [{ id: 'notes', path: '${SKILLBOX_REPOS_ROOT}/notes', source: { kind: 'directory' }, sync: { mode: 'ensure-directory' } }],
  },
};

let box: TestBox;
const sse = { Accept: 'text/event-stream' };

beforeAll(async () => {
  const stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-progress-'));
  writeFileSync(join(stateRoot, 'skillbox.yaml'), stringify(manifest));
  mkdirSync(join(stateRoot, 'clients', 'acme'), { recursive: true });
  writeFileSync(join(stateRoot, 'clients', 'acme', 'overlay.yaml'), stringify(overlay));
  box = await startTestBox({ SKILLBOX_STATE_ROOT: stateRoot });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await box.json('/v1/runtime/down', { body: {} });
  await box.stop();
});

/** What a call tells, as it comes. */
async function listen(path: string, body?: unknown, more: { key?: string; signal?: AbortSignal; headers?: Record<string, string> } = {}) {
  const { headers, ...rest } = more;
  const response = await box.request(path, { headers: { ...sse, ...headers }, ...(body !== undefined && { body }), ...rest });
  if (!response.ok) return { response, events: undefined };
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  return { response, events: readEvents(response.body as unknown as AsyncIterable<Uint8Array>) };
}

async function heard(path: string, body: unknown): Promise<StreamEvent[]> {
  const { events } = await listen(path, body);
  const all: StreamEvent[] = [];
  for await (const event of events ?? []) all.push(event);
  return all;
}

const stepsOf = (events: readonly StreamEvent[]): WorkStep[] =>
  events.flatMap(({ event, data }) => (event === 'progress' ? ((data as WorkProgress).step ?? []) : []));
const said = (steps: readonly WorkStep[]): string[] => steps.map(({ name, state }) => `${name} ${state}`);

describe('over HTTP', () => {
  it('up tells its parts while they go on, and ends with what JSON would have been', async () => {
    const { events } = await listen('/v1/runtime/up', { service: 'web' });
    const seen: StreamEvent[] = [];
    for await (const event of events ?? []) {
      seen.push(event);
      const { step } = event.data as WorkProgress;
      // It cannot end before this was heard.
      if (step?.name === 'run gated' && step.state === 'running') writeFileSync(join(box.stateRoot, 'go'), '');
    }
    expect(seen.slice(0, -1).every(({ event, data }) => event === 'progress' && workProgress.safeParse(data).success)).toBe(true);
    expect(seen.map(({ id }) => id)).toEqual(seen.map((_, index) => String(index + 1)));
    expect(said(stepsOf(seen)).filter((one) => !one.startsWith('write '))).toEqual([
      ...['start api running', 'start api unchanged', 'sync running', 'sync done'],
      ...['run gated running', 'run gated done', 'start web running', 'start web done'],
    ]);
    const last = seen.at(-1);
    expect(last?.event).toBe('result');
    expect(upReport.parse(last?.data)).toMatchObject({ ok: true, services: [{ id: 'api' }, { id: 'web', result: 'started' }] });
  });

  it('who does not name text/event-stream gets JSON, as before', async () => {
    for (const Accept of ['*/*', 'application/json', 'text/html, */*;q=0.8']) {
      const { status, headers, body } = await box.json('/v1/runtime/sync', { body: {}, headers: { Accept } });
      expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'application/json' });
      expect(syncReport.parse(body).ok).toBe(true);
    }
  });

  it('a part that fails says why, with the last lines of its log and without secrets', async () => {
    const events = await heard('/v1/runtime/up', { service: 'broken' });
    const failed = stepsOf(events).find(({ name, state }) => name === 'start broken' && state === 'failed');
    expect(failed?.detail).toContain('exit code 3');
    expect(failed?.tail.at(-1)).toBe('the last straw');
    expect(JSON.stringify(stepsOf(events))).not.toContain(secret);
    expect(events.at(-1)).toMatchObject({ event: 'result', data: { ok: false } });
  });

  it('what is refused is the last event, with the status that JSON would have had', async () => {
    const { status, body } = await box.json('/v1/runtime/up', { body: { service: 'nobody' } });
    const events = await heard('/v1/runtime/up', { service: 'nobody' });
    const last = events.pop();
    // It may have waited for work that was under way, and said so.
    expect(events.filter(({ event }) => event !== 'progress')).toEqual([]);
    expect(last?.event).toBe('error');
    const { status: told, ...refusal } = (last?.data ?? {}) as { status?: number };
    expect(told).toBe(status);
    expect(errorBody.parse(refusal)).toMatchObject({ error: body.error, message: body.message, hint: body.hint });
  });

  it('a key without graph:use, a body that does not fit and an unknown key are refused as ever', async () => {
    const reader = await box.newKey('acme', ['graph:read']);
    const user = await box.newKey('acme', ['graph:use']);
    const statusOf = async (path: string, body: unknown, key?: string) =>
      (await listen(path, body, { ...(key && { key }) })).response.status;
    expect(await statusOf('/v1/runtime/up', {}, reader)).toBe(403);
    expect(await statusOf('/v1/runtime/up', { servce: 'web' })).toBe(400);
    expect(await statusOf('/v1/runtime/up', {}, `sk-${'0'.repeat(48)}`)).toBe(401);
    expect(await statusOf('/v1/runtime/logs', undefined, user)).toBe(403);
  });

  it('who leaves interrupts the work in order, as Ctrl-C does, with or without events', async () => {
    const error = vi.spyOn(box.box.log, 'error');
    for (const headers of [sse, { Accept: 'application/json' }]) {
      rmSync(join(box.stateRoot, 'endless-began'), { force: true });
      const patience = new AbortController();
      const asked = box
        .request('/v1/runtime/bootstrap', { body: { task: 'endless', profile: 'surfaces' }, headers, signal: patience.signal })
        .then((response) => response.text())
        .catch(() => 'left');
      await expect.poll(() => existsSync(join(box.stateRoot, 'endless-began')), { timeout: 20_000 }).toBe(true);
      patience.abort();
      expect(await asked).toBe('left');
      // The lock is free again, and nothing of the task runs.
      expect((await box.json('/v1/runtime/sync', { body: {} })).status).toBe(200);
    }
    expect(error).not.toHaveBeenCalled();
  });

  it('focus tells its six phases, and status knows of it afterwards without doing it again', async () => {
    const before = (await box.json<RuntimeStatus>('/v1/runtime')).body.focus;
    expect(before).toBeNull();
    const events = await heard('/v1/runtime/focus', { client_id: 'acme', service: 'web' });
    const phases = stepsOf(events).filter(({ kind, state }) => kind === 'phase' && state !== 'running');
    expect([...new Set(phases.map(({ name }) => name))]).toEqual(['sync', 'bootstrap', 'up', 'collect', 'context', 'persist']);
    const report = focusReport.parse(events.at(-1)?.data);
    const { body } = await box.json<RuntimeStatus>('/v1/runtime');
    expect(body.client).toBeNull();
    expect(body.focus).toMatchObject({ client: 'acme', services: ['web'], mode: 'reuse', ok: report.ok, focused_at: report.focused_at });
    expect(body.focus).toMatchObject({ repos: report.repos, context: report.context, sessions: report.sessions });
    expect(body.focus?.steps.map(({ step, result }) => `${step} ${result}`)).toEqual(
      report.steps.map(({ step, result }) => `${step} ${result}`),
    );
  });
});

it.each(['modern', 'session'] as const)('an MCP client (%s) that asks for progress hears it', async (era) => {
  const client = await connect(box, era);
  try {
    const messages: (string | undefined)[] = [];
    const options = { onprogress: ({ message }: { message?: string }) => void messages.push(message) };
    const result = await client.callTool({ name: 'skillbox_restart', arguments: { service: 'web' } }, options as never);
    expect((result as { isError?: boolean }).isError ?? false).toBe(false);
    expect(messages).toContain('stop web: done');
    expect(messages.at(-1)).toBe('start web: done');
  } finally {
    await client.close();
  }
});

describe('logs', () => {
  const log = () => join(box.stateRoot, 'logs/services/web.log');
  const lineOf = ({ data }: StreamEvent): string => (data as { line: string }).line;

  it('come as they are written, and go on after the last that was read', async () => {
    const leave = new AbortController();
    const { events } = await listen('/v1/runtime/logs?service=web&lines=1', undefined, { signal: leave.signal });
    if (!events) throw new Error('refused');
    const next = async (from = events): Promise<StreamEvent> => (await from.next()).value as StreamEvent;
    const first = await next();
    expect(first).toMatchObject({ event: 'line', data: { service: 'web', line: 'hello from web' } });
    appendFileSync(log(), 'one\ntwo\n');
    const one = await next();
    expect([lineOf(one), lineOf(await next())]).toEqual(['one', 'two']);
    leave.abort();
    const again = new AbortController();
    const resumed = await listen('/v1/runtime/logs?service=web&lines=1', undefined, {
      ...{ signal: again.signal, headers: { 'Last-Event-ID': one.id } },
    });
    expect(lineOf(await next(resumed.events))).toBe('two');
    again.abort();
  });

  it('of a service that is not declared are refused, with the status that JSON has', async () => {
    const { response } = await listen('/v1/runtime/logs?service=nobody');
    expect(response.status).toBe((await box.json('/v1/runtime/logs?service=nobody')).status);
    expect(errorBody.parse(await response.json()).hint).toBeTruthy();
  });
});

describe('the CLI of another machine', () => {
  const cli = (...words: string[]) =>
    spawn(process.execPath, [join(import.meta.dirname, '../../packages/box/bin/skillbox.js'), ...words, '--json'], {
      env: { PATH: process.env.PATH, HOME: box.stateRoot, SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key },
      stdio: ['ignore', 'pipe', 'inherit'],
    });

  it('does long work there, with its report and exit code', async () => {
    const child = cli('restart', '--service', 'web');
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(code).toBe(0);
    expect(upReport.parse(JSON.parse(out)).services).toContainEqual(expect.objectContaining({ id: 'web', result: 'started' }));
  });

  it('follows logs there', async () => {
    const child = cli('logs', '--service', 'web', '--lines', '1', '--follow');
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      expect(JSON.parse((await lines.next()).value)).toEqual({ service: 'web', line: 'hello from web' });
      appendFileSync(join(box.stateRoot, 'logs/services/web.log'), 'heard from afar\n');
      expect(JSON.parse((await lines.next()).value)).toEqual({ service: 'web', line: 'heard from afar' });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
});
