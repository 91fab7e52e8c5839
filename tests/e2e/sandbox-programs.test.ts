/** Programs in living sandboxes over HTTP and WebSocket, on a real box. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startTestBox, type TestBox } from '../support/box.ts';
import { collect, until } from './wire.ts';

let box: TestBox;
let id: string;

beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_MAX_LOG_SIZE: '64Ki' });
  id = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base' } })).body.id;
});
afterAll(async () => {
  await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await box.stop();
});

interface Result {
  readonly program_id: number;
  readonly ended: boolean;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timed_out: boolean;
}

const exec = (body: Record<string, unknown>) => box.json<Result>(`/v1/sandboxes/${id}/programs`, { body });
const start = async (cmd: string, more: Record<string, unknown> = {}): Promise<number> =>
  (await exec({ cmd, wait: false, ...more })).body.program_id;

interface OutputEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { text?: string; base64?: string; exit_code?: number | null; signal?: string | null };
}

async function* eventsOf(program: number, query = '', headers: Record<string, string> = {}): AsyncGenerator<OutputEvent> {
  const response = await box.request(`/v1/sandboxes/${id}/programs/${program}/events${query}`, { headers });
  expect(response.status).toBe(200);
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(text.slice(0, end))?.[1] ?? '';
      if (field('id')) yield { id: field('id'), event: field('event'), data: JSON.parse(field('data')) };
      text = text.slice(end + 2);
    }
  }
}

describe('exec', () => {
  it('waits and answers with output and true exit code', async () => {
    const { status, body } = await exec({ cmd: 'echo out; echo err >&2; exit 7' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ended: true, exit_code: 7, signal: null, stdout: 'out\n', stderr: 'err\n', timed_out: false });
  });

  it('takes words, environment, folder and stdin, and sets the usual variables', async () => {
    expect((await exec({ argv: ['printf', '%s|', 'a b', '$HOME', '-x'] })).body.stdout).toBe('a b|$HOME|-x|');
    expect((await exec({ cmd: 'echo $A $HOME $USER $LANG; pwd', env: { A: 'ä' }, cwd: '/tmp' })).body.stdout).toBe(
      'ä /home/user user C.UTF-8\n/tmp\n',
    );
    expect((await exec({ cmd: 'tr a-z A-Z', stdin: 'shout' })).body.stdout).toBe('SHOUT');
    expect((await exec({ cmd: 'true', stdin: 'x'.repeat(100_000) })).body.exit_code).toBe(0);
    expect((await exec({ argv: ['nosuchprogram'] })).body.exit_code).toBe(127);
    expect((await exec({ cmd: 'stty size; echo $TERM', pty: { cols: 99, rows: 33 } })).body.stdout).toContain('33 99\r\nxterm-256color');
  });

  it('ends a program and what it started when its time is over', async () => {
    const before = Date.now();
    const { body } = await exec({ cmd: 'echo begun; sleep 61 & sleep 62', timeout: '500ms' });
    expect(body).toMatchObject({ timed_out: true, signal: 'SIGKILL', exit_code: null, stdout: 'begun\n' });
    expect(Date.now() - before).toBeLessThan(5000);
    expect((await exec({ cmd: "pgrep -f '^sleep 6[12]' | wc -l" })).body.stdout.trim()).toBe('0');
  });

  it('keeps output within the limit, and says how much is missing', async () => {
    const { body } = await exec({ cmd: 'head -c 1000000 /dev/zero | tr "\\0" x' });
    expect(body.stdout).toMatch(/^x{65536}\n\[934464 more bytes were left out\]\n$/);
  });

  it('refuses what cannot be', async () => {
    for (const bad of [{}, { cmd: 'a', argv: ['a'] }, { cmd: 'true', user: 'root' }, { cmd: 'a\0b' }, { cmd: 'true', env: { 'A=B': '' } }])
      expect([bad, (await exec(bad)).status]).toEqual([bad, 400]);
    expect((await box.json(`/v1/sandboxes/${id}/programs/4000000`)).status).toBe(404);
    expect((await box.json(`/v1/sandboxes/${id}/programs/4000000/events`)).status).toBe(404);
    expect((await box.json(`/v1/sandboxes/${id}/programs/4000000/stdin`, { body: { data: 'x' } })).status).toBe(404);
  });

  it('runs many, one after the other and at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const all = await Promise.all(Array.from({ length: 30 }, (_, at) => exec({ cmd: `echo ${at}` })));
      expect(all.map(({ body }) => body.stdout)).toEqual(Array.from({ length: 30 }, (_, at) => `${at}\n`));
    }
  });
});

describe('a program that nobody waits for', () => {
  it('is listed, followed, and resumed after the last event without loss or repeat', async () => {
    const { status, body, headers } = await exec({
      cmd: 'for i in 1 2 3 4; do echo line $i; sleep 0.1; done; exit 3',
      wait: false,
      tag: 'mine',
    });
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/sandboxes/${id}/programs/${body.program_id}`);
    let first: OutputEvent | undefined;
    for await (const event of eventsOf(body.program_id)) {
      first = event;
      break;
    }
    const rest = await collect(eventsOf(body.program_id, '', { 'Last-Event-ID': first?.id ?? '' }));
    const output = [first, ...rest].flatMap((event) => event?.data.text ?? []).join('');
    expect(output).toBe('line 1\nline 2\nline 3\nline 4\n');
    expect(rest.at(-1)).toMatchObject({ event: 'end', data: { exit_code: 3, signal: null } });
    const { body: page } = await box.json<{ items: Record<string, unknown>[] }>(`/v1/sandboxes/${id}/programs`);
    expect(page.items.find(({ program_id }) => program_id === body.program_id)).toMatchObject({ tag: 'mine', ended: true, exit_code: 3 });
  });

  it('keeps a character whole that two pieces share, also for who resumes in between', async () => {
    const program = await start("printf '\\342\\202'; sleep 0.3; printf '\\254!'");
    const events = await collect(eventsOf(program));
    expect(events.flatMap(({ data }) => data.text ?? []).join('')).toBe('€!');
    const rest = await collect(eventsOf(program, '', { 'Last-Event-ID': events[0]?.id ?? '' }));
    expect(rest.flatMap(({ data }) => data.text ?? []).join('')).toBe('€!');
    const bytes = await collect(eventsOf(program, '?encoding=base64'));
    expect(Buffer.concat(bytes.map(({ data }) => Buffer.from(data.base64 ?? '', 'base64'))).toString()).toBe('€!');
  });

  it('shows what there is so far, without waiting', async () => {
    const program = await start('echo so far; sleep 60');
    await until(async () => (await collect(eventsOf(program, '?follow=false'))).length > 0);
    expect((await collect(eventsOf(program, '?follow=false'))).map(({ data }) => data.text)).toEqual(['so far\n']);
    expect((await box.json(`/v1/sandboxes/${id}/programs/${program}/signal`, { body: { signal: 'KILL' } })).status).toBe(204);
    expect((await collect(eventsOf(program))).at(-1)).toMatchObject({ event: 'end', data: { signal: 'SIGKILL' } });
    expect((await box.json(`/v1/sandboxes/${id}/programs/${program}/signal`, { body: {} })).status).toBe(409);
  });

  it('reads what is written to it, as JSON and as bytes', async () => {
    const program = await start('cat; echo over', { stdin: true });
    const stdin = `/v1/sandboxes/${id}/programs/${program}/stdin`;
    expect((await box.json(stdin, { body: { data: 'text ' } })).status).toBe(204);
    expect((await box.json(stdin, { body: { data: 'YnJldyA=', encoding: 'base64' } })).status).toBe(204);
    expect((await box.json(stdin, { body: new Uint8Array([114, 97, 119, 10]) })).status).toBe(204);
    expect((await box.json(stdin, { method: 'DELETE' })).status).toBe(204);
    expect((await collect(eventsOf(program))).flatMap(({ data }) => data.text ?? []).join('')).toBe('text brew raw\nover\n');
  });

  it('ends its stream when the sandbox goes away', async () => {
    const other = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base' } })).body.id;
    const { body } = await box.json<Result>(`/v1/sandboxes/${other}/programs`, { body: { cmd: 'echo here; sleep 60', wait: false } });
    const response = await box.request(`/v1/sandboxes/${other}/programs/${body.program_id}/events`);
    setTimeout(() => void box.request(`/v1/sandboxes/${other}`, { method: 'DELETE' }), 300);
    expect(await response.text()).toMatch(/event: (error|end)\n/);
  });
});

describe('a terminal over WebSocket', () => {
  interface Terminal {
    readonly socket: WebSocket;
    readonly news: Record<string, { code?: number | null }>[];
    text(): string;
    readonly closed: Promise<number>;
  }

  function open(
    query: string,
    headers: Record<string, string> = { Authorization: `Bearer ${box.key}` },
    protocols: string[] = [],
  ): Terminal {
    const socket = new WebSocket(`${box.url.replace('http', 'ws')}/v1/sandboxes/${id}/pty?${query}`, protocols, { headers });
    const bytes: Buffer[] = [];
    const news: Terminal['news'] = [];
    socket.on('message', (data: Buffer, binary) => (binary ? bytes.push(data) : news.push(JSON.parse(data.toString()))));
    const closed = new Promise<number>((resolve) => {
      socket.on('close', resolve);
      socket.on('error', () => resolve(-1));
    });
    return { socket, news, text: () => Buffer.concat(bytes).toString(), closed };
  }

  it('types, resizes, and tells how it ended', async () => {
    const terminal = open('cols=90&rows=20');
    await until(() => terminal.text().includes('$'));
    terminal.socket.send(Buffer.from('stty size\n'));
    await until(() => terminal.text().includes('20 90'));
    terminal.socket.send(JSON.stringify({ resize: { cols: 120, rows: 40 } }));
    terminal.socket.send(Buffer.from('stty size; exit 5\n'));
    expect(await terminal.closed).toBe(1000);
    expect(terminal.text()).toContain('40 120');
    expect(terminal.news.at(-1)).toEqual({ exit: { code: 5, signal: null } });
  });

  it('goes on without a connection, and is found again with what was missed', async () => {
    const first = open('cmd=echo+begin;sleep+0.5;echo+late;sleep+0.3;exit+4');
    await until(() => first.text().includes('begin'));
    const program = first.news[0]?.program;
    first.socket.terminate();
    await delay(600);
    const again = open(`program=${program}`);
    expect(await again.closed).toBe(1000);
    expect(again.text()).toMatch(/begin\s+late/);
    expect(again.news.at(-1)).toEqual({ exit: { code: 4, signal: null } });
  });

  it('takes a key as a protocol, and nobody without one or from another site', async () => {
    const host = new URL(box.url).host;
    const asBrowser = open('cmd=exit+0', { Origin: `http://${host}` }, ['skillbox', `key.${box.key}`]);
    expect(await asBrowser.closed).toBe(1000);
    expect(asBrowser.socket.protocol).toBe('skillbox');
    const status = (headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const { socket } = open('cmd=exit+0', headers);
        socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
        socket.on('open', () => resolve(101));
      });
    expect(await status({})).toBe(401);
    expect(await status({ Authorization: `Bearer ${box.key}`, Origin: 'https://evil.example' })).toBe(403);
    expect(await status({ Authorization: `Bearer ${box.key}`, Origin: 'null' })).toBe(403);
    const stranger = await box.newKey('stranger', ['sandboxes:use', 'sandboxes:read']);
    expect(await status({ Authorization: `Bearer ${stranger}` })).toBe(404);
    const reader = await box.newKey('default', ['sandboxes:read']);
    expect(await status({ Authorization: `Bearer ${reader}` })).toBe(403);
  });
});

it('an offer of another protocol is answered as if it had not been made', async () => {
  const { rawExchange } = await import('./wire.ts');
  expect(await rawExchange(box.url, 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 200 [\s\S]*ok\n/,
  );
});

it('metrics show now and, after a while of work, before', async () => {
  await start('sleep 8');
  const read = async () => (await box.json<{ now: Record<string, number>; history: unknown[] }>(`/v1/sandboxes/${id}/metrics`)).body;
  expect((await read()).now).toMatchObject({ memory_bytes: expect.any(Number), processes: expect.any(Number) });
  expect((await read()).now.processes).toBeGreaterThan(0);
  await until(async () => (await read()).history.length > 0, Boolean, 10_000);
});
