import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Execution, execution, executionStatuses } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { artifactsLink } from '../../packages/box/src/executions/links.ts';
import { probeSkill, startTestBox, type TestBox } from '../support/box.ts';
import { collect, echoSkill, eventsOf, type ServerEvent, shellSkill, skill, until } from './wire.ts';

const maxTimeoutMs = 6000;
let box: TestBox;
/** Started first and looked at last: it has to run into the server's maximum. */
let endless: Promise<Execution>;

beforeAll(async () => {
  box = await startTestBox({
    SKILLBOX_MAX_TIMEOUT: `${maxTimeoutMs}ms`,
    SKILLBOX_MAX_OUTPUT_SIZE: '64Ki',
    SKILLBOX_MAX_ARTIFACTS: '8',
    SKILLBOX_MAX_ARTIFACT_SIZE: '1Mi',
    SKILLBOX_MAX_CONCURRENT_EXECS: '8',
    SKILLBOX_MAX_REQUEST_SIZE: '4Mi',
  });
  for (const files of [echoSkill(), shellSkill(), probeSkill('python'), shellSkill('small', { extra: 'resources:\n  memory: 48Mi\n' })])
    expect(await box.push(files)).toMatchObject({ status: 201 });
  endless = box.run('shell', { env: { RUN: 'sleep 60' }, timeout: '1h' });
});
afterAll(() => box.stop());

const python = (code: string, more: Record<string, unknown> = {}) => box.run('probe-python', { input: { code }, ...more });
const shell = (run: string, more: Record<string, unknown> = {}) => box.run('shell', { env: { RUN: run }, ...more });
const get = async (id: string) => (await box.json<Execution>(`/v1/executions/${id}`)).body;
const start = async (run: string, more: Record<string, unknown> = {}, key?: string) =>
  (
    await box.json<Execution>('/v1/executions', {
      body: { skill: 'shell', env: { RUN: run }, wait: false, ...more },
      ...(key && { key }),
    })
  ).body.execution_id;
const ended = (id: string) =>
  until(
    () => get(id),
    ({ finished_at }) => finished_at !== null,
  );
const firstLog = (id: string) =>
  until(
    () => get(id),
    ({ logs }) => logs !== '',
  );

describe('the record', () => {
  it('has every field, true to what happened', async () => {
    const before = Date.now();
    const code = [
      'import os, json, time',
      'print("to stdout", flush=True)',
      'time.sleep(0.05)',
      'os.write(2, b"to stderr\\n")',
      'x = bytearray(20_000_000)',
      'json.dump({"ok": True}, open(os.environ["SANDBOX_OUTPUT"], "w"))',
      'open(os.environ["SANDBOX_FILES_DIR"] + "a.txt", "w").write("hello")',
    ].join('\n');
    const record = await python(code);
    const sha256 = createHash('sha256').update('hello').digest('hex');
    expect(record).toMatchObject({
      skill_name: 'probe-python',
      skill_version: '1.0.0',
      tenant_id: 'default',
      status: 'success',
      input: { code },
      output: { ok: true },
      logs: 'to stdout\nto stderr\n',
      files_list: [{ path: 'a.txt', size: 5, sha256 }],
      error: null,
      exit_code: 0,
      signal: null,
      provider: 'bubblewrap',
      host: box.box.host,
      queued_ms: 0,
    });
    expect(execution.strict().safeParse(record)).toMatchObject({ success: true });
    expect(record.files_url).toMatch(new RegExp(`^${box.url}/v1/executions/${record.execution_id}/files\\.tar\\.gz\\?expires=`));
    expect(record.duration_ms).toBeGreaterThanOrEqual(50);
    expect(record.cpu_ms).toBeGreaterThan(0);
    expect(record.peak_memory_bytes).toBeGreaterThan(20_000_000);
    const times = [record.created_at, record.started_at ?? '', record.finished_at ?? ''].map((time) => Date.parse(time));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(before - 1);
    const again = await get(record.execution_id);
    expect({ ...again, files_url: null }).toEqual({ ...record, files_url: null });
  });

  it('with wait: false is there at once with 202 and Location, and later with its end', async () => {
    const { status, headers, body } = await box.json<Execution>('/v1/executions', {
      body: { skill: 'shell', env: { RUN: 'sleep 0.3; echo done' }, wait: false },
    });
    expect(status).toBe(202);
    expect(headers.get('location')).toBe(`/v1/executions/${body.execution_id}`);
    expect(body).toMatchObject({ status: 'running', finished_at: null, duration_ms: null, exit_code: null, output: null, files_url: null });
    expect(await ended(body.execution_id)).toMatchObject({ status: 'success', logs: 'done\n' });
  });

  it('shows the log so far while it runs', async () => {
    const id = await start('echo early; sleep 0.5; echo late');
    expect(await firstLog(id)).toMatchObject({ status: 'running', logs: 'early\n' });
    const logs = await box.request(`/v1/executions/${id}/logs`);
    expect(logs.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await logs.text()).toBe('early\n');
    await ended(id);
    expect(await (await box.request(`/v1/executions/${id}/logs`)).text()).toBe('early\nlate\n');
  });

  it('never shows the environment a caller gave, nor keeps it', async () => {
    const secret = `hidden-${randomUUID()}`;
    const key = await box.newKey('secretive');
    await box.push(shellSkill(), key);
    await box.json('/v1/tenants/secretive', { method: 'PUT', body: { slots: 1 } });
    const first = await start('sleep 0.3', {}, key);
    const queued = await start(
      `test "$TOKEN" = ${secret} && echo got it`,
      { env: { RUN: 'test -n "$TOKEN" && echo got it', TOKEN: secret } },
      key,
    );
    const { kysely } = box.box.store.database;
    const waiting = await kysely.selectFrom('executions').selectAll().where('id', '=', queued).executeTakeFirstOrThrow();
    expect(waiting.request).toMatch(/env/);
    expect(JSON.stringify(waiting)).not.toContain(secret);
    const done = await until(
      async () => (await box.json<Execution>(`/v1/executions/${queued}`, { key })).body,
      ({ finished_at }) => finished_at !== null,
    );
    expect(done).toMatchObject({ status: 'success', logs: 'got it\n' });
    const everything = JSON.stringify([
      await kysely.selectFrom('executions').selectAll().where('id', 'in', [first, queued]).execute(),
      await kysely.selectFrom('events').selectAll().execute(),
    ]);
    expect(everything).not.toContain(secret);
  });
});

describe('how a run can end', () => {
  it('exit_nonzero keeps logs, output and files', async () => {
    const run = `echo '{"partial":1}' > "$SANDBOX_OUTPUT"; echo x > "$SANDBOX_FILES_DIR/f"; echo broke >&2; exit 7`;
    expect(await shell(run)).toMatchObject({
      status: 'failed',
      exit_code: 7,
      signal: null,
      logs: 'broke\n',
      output: { partial: 1 },
      files_list: [{ path: 'f' }],
      error: { code: 'exit_nonzero', message: expect.stringContaining('7') },
    });
  });

  it('killed_by_signal names the signal', async () => {
    expect(await shell('echo before; kill -SEGV $$')).toMatchObject({
      status: 'failed',
      exit_code: null,
      signal: 'SIGSEGV',
      logs: 'before\n',
      error: { code: 'killed_by_signal', message: expect.stringContaining('SIGSEGV') },
    });
  });

  it('timeout keeps the logs', async () => {
    const record = await shell('echo started; sleep 30', { timeout: '400ms' });
    expect(record).toMatchObject({
      status: 'timeout',
      error: { code: 'timeout', message: expect.stringContaining('400ms') },
      logs: 'started\n',
    });
    expect(record.duration_ms).toBeGreaterThanOrEqual(400);
    expect(record.duration_ms).toBeLessThan(5000);
    expect(await shell('sleep 30', { timeout: 0.2 })).toMatchObject({ status: 'timeout' });
  });

  it('memory_exceeded says how much was allowed', async () => {
    const record = await box.run('small', { env: { RUN: 'echo big; a=x; while :; do a="$a$a"; done' } });
    expect(record).toMatchObject({
      status: 'failed',
      error: { code: 'memory_exceeded', message: expect.stringContaining('48Mi') },
      logs: /^big\n/.test(record.logs) ? record.logs : 'big\n',
    });
  });

  it.each([
    ['broken JSON', 'echo "{\\"a\\":" > "$SANDBOX_OUTPUT"', 'output_invalid'],
    ['an empty file', ': > "$SANDBOX_OUTPUT"', 'output_invalid'],
    ['bytes that are no UTF-8', 'printf "\\"\\377\\"" > "$SANDBOX_OUTPUT"', 'output_invalid'],
    ['a link', 'ln -s /etc/passwd "$SANDBOX_OUTPUT"', 'output_invalid'],
    ['too much', 'head -c 70000 /dev/zero | tr "\\0" 1 > "$SANDBOX_OUTPUT"', 'output_too_large'],
    ['too many files', 'for i in 1 2 3 4 5 6 7 8 9; do echo > "$SANDBOX_FILES_DIR/$i"; done', 'too_many_artifacts'],
    ['too large files', 'head -c 1100000 /dev/zero > "$SANDBOX_FILES_DIR/big"', 'artifact_too_large'],
    ['files too large together', 'for i in 1 2 3; do head -c 400000 /dev/zero > "$SANDBOX_FILES_DIR/$i"; done', 'artifact_too_large'],
  ])('%s is %s', async (_what, run, code) => {
    const record = await shell(`echo said; ${run}`);
    expect(record).toMatchObject({ status: 'failed', exit_code: 0, output: null, error: { code }, logs: 'said\n' });
    if (code.includes('artifact')) expect(record.files_list).toEqual([]);
  });

  it('missing output is null and a success', async () => {
    expect(await shell('true')).toMatchObject({ status: 'success', output: null, error: null, files_list: [], files_url: null });
  });

  it('output_schema_mismatch names the path, and so does no output at all', async () => {
    const schema = 'output_schema:\n  type: object\n  required: [rows]\n  properties:\n    rows: {type: array, items: {type: integer}}\n';
    await box.push(echoSkill('typed-output', { extra: schema }));
    expect(await box.run('typed-output', { input: { rows: [1, 2] } })).toMatchObject({ status: 'success' });
    expect(await box.run('typed-output', { input: { rows: [1, 'two'] } })).toMatchObject({
      status: 'failed',
      output: { rows: [1, 'two'] },
      error: { code: 'output_schema_mismatch', message: expect.stringContaining('/rows/1'), details: { problems: [{ path: '/rows/1' }] } },
    });
    await box.push(skill('bash', 'silent-output', 'true\n', { extra: schema }));
    expect(await box.run('silent-output')).toMatchObject({ status: 'failed', error: { code: 'output_schema_mismatch' } });
  });

  it('cuts a log that is too long, with a mark, and survives a binary one', async () => {
    const long = await shell('yes 0123456789 | head -c 3000000');
    expect(long.status).toBe('success');
    expect(long.logs.length).toBeLessThan(1024 * 1024 + 200);
    expect(long.logs).toMatch(/\[skillbox\] log cut at 1Mi: \d+ more bytes were dropped\n$/);
    const binary = await shell('head -c 20000 /dev/urandom; printf "\\0\\0end"');
    expect(binary.status).toBe('success');
    expect(binary.logs).toMatch(/end$/);
    expect(binary.logs).not.toContain('\0');
  });
});

describe('what is refused before anything starts', () => {
  const refused = async (body: unknown, expected: { status: number; body: object }) => {
    const count = async () => (await box.box.store.database.kysely.selectFrom('executions').select('id').execute()).length;
    const before = await count();
    const answer = await box.json('/v1/executions', { body });
    expect(answer).toMatchObject(expected);
    expect(await count()).toBe(before);
    return answer.body;
  };

  it('input that does not fit, with the failing path', async () => {
    const extra = 'input_schema:\n  type: object\n  properties:\n    items: {type: array, items: {type: object, required: [id]}}\n';
    await box.push(echoSkill('typed-input', { extra }));
    await refused(
      { skill: 'typed-input', input: { items: [{ id: 1 }, {}] } },
      { status: 422, body: { error: 'invalid_input', details: { problems: [{ path: '/items/1' }] } } },
    );
    expect((await box.run('typed-input', { input: { items: [] } })).status).toBe('success');
  });

  it.each([
    'PATH',
    'HOME',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'PYTHONPATH',
    'NODE_PATH',
    'NODE_OPTIONS',
    'SANDBOX_OUTPUT',
    'SKILL_X',
    'a=b',
    '',
  ])('the variable %j', async (name) => {
    const body = await refused({ skill: 'shell', env: { [name]: 'sekret' } }, { status: 422, body: { error: 'invalid_env' } });
    expect(JSON.stringify(body)).not.toContain('sekret');
  });

  it('a value with NUL, and too many bytes of environment', async () => {
    await refused({ skill: 'shell', env: { A: 'x\0y' } }, { status: 422, body: { error: 'invalid_env' } });
    await refused({ skill: 'shell', env: { A: 'x'.repeat(100_000) } }, { status: 422, body: { error: 'invalid_env' } });
  });

  it('a skill or version that is not there', async () => {
    await refused({ skill: 'absent' }, { status: 404, body: { error: 'skill_not_found' } });
    await refused({ skill: 'shell', version: '9.9.9' }, { status: 404, body: { error: 'skill_not_found' } });
  });

  it('an image that is no interpreter', async () => {
    await box.push(echoSkill('imaged', { extra: 'image: registry.example/tool:1\n' }));
    await refused({ skill: 'imaged' }, { status: 422, body: { error: 'image_unsupported' } });
    await box.push(echoSkill('plain-image', { extra: 'image: python:3.12-slim\n' }));
    expect((await box.run('plain-image')).status).toBe('success');
  });

  it.each([
    ['no skill', {}],
    ['a skill that is no name', { skill: '../etc' }],
    ['an unknown field', { skill: 'shell', inputs: {} }],
    ['a timeout that is none', { skill: 'shell', timeout: 'soon' }],
    ['a negative timeout', { skill: 'shell', timeout: -1 }],
    ['a version that is none', { skill: 'shell', version: 'v1' }],
    ['env that is not text', { skill: 'shell', env: { A: 1 } }],
    ['a file that climbs out', { skill: 'shell', files: { '../x': '' } }],
    ['a file with an absolute path', { skill: 'shell', files: { '/etc/x': '' } }],
    ['a file that is no base64', { skill: 'shell', files: { x: '***' } }],
    ['a file and a folder of one name', { skill: 'shell', files: { a: '', 'a/b': '' } }],
    ['a file name that no file system takes', { skill: 'shell', files: { ['n'.repeat(300)]: '' } }],
    ['a file name that is no text', { skill: 'shell', files: { 'a\ud800': '' } }],
    ['an array as the body', []],
    ['text as the body', '"shell"'],
  ])('%s', async (_what, body) => {
    await refused(body, { status: 400, body: { error: 'bad_request', message: expect.stringMatching(/\S/) } });
  });

  it('JSON that is cut off, and JSON that is nested too deeply', async () => {
    await refused('{"skill":"shell"', { status: 400, body: { error: 'invalid_json' } });
    await refused(`{"skill":"echo","input":${'['.repeat(5000)}${']'.repeat(5000)}}`, { status: 400, body: { error: 'invalid_json' } });
  });
});

describe('what goes in and out', () => {
  const values: [string, unknown][] = [
    ['nothing', null],
    ['false', false],
    ['an empty text', ''],
    ['numbers', [0, -1, 1.5, 1e300, 2 ** 53 - 1]],
    ['unicode', { 'ключ ✓': '日本語 \u{1F600} e\u0301' }],
    ['control characters and NUL', 'a\0b\u0001\u2028\u007f'],
    ['lone surrogates', ['\ud800', '\udfff tail']],
    ['names that objects have', { constructor: 1, toString: { hasOwnProperty: 2 } }],
    ['200 levels', JSON.parse('['.repeat(200) + ']'.repeat(200))],
  ];
  it('comes back as it was given', async () => {
    const answers = await Promise.all(values.map(([, input]) => box.run('echo', { input })));
    for (const [index, [what, input]] of values.entries()) {
      expect(answers[index]?.status, what).toBe('success');
      expect(answers[index]?.output, what).toEqual(input);
      expect(answers[index]?.input, what).toEqual(input);
      expect(await get(answers[index]?.execution_id ?? ''), what).toMatchObject({ output: input as object });
    }
  });

  it('keeps a key called __proto__', async () => {
    const { body } = await box.json<Execution>('/v1/executions', { body: '{"skill":"echo","input":{"__proto__":{"a":1}}}' });
    expect(JSON.stringify([body.input, body.output])).toBe('[{"__proto__":{"a":1}},{"__proto__":{"a":1}}]');
  });

  it('without input is an empty object, in the file and in SANDBOX_INPUT', async () => {
    expect((await shell('cat /sandbox/input.json; echo "|$SANDBOX_INPUT"')).logs).toBe('{}|{}\n');
  });

  it('of 200 KB is in input.json, and SANDBOX_INPUT is unset', async () => {
    const text = 'x'.repeat(200_000);
    const record = await shell('printenv SANDBOX_INPUT || echo unset; wc -c < /sandbox/input.json', { input: { text } });
    expect(record).toMatchObject({ status: 'success', logs: 'unset\n200011\n', input: { text } });
  });

  it('gives the contract: folders, variables, instructions', async () => {
    const { logs } = await shell(
      'pwd; ls /sandbox/scripts; echo $SANDBOX_FILES_DIR $SANDBOX_INPUT_DIR $HOME; echo "$SKILL_INSTRUCTIONS"; echo $EXTRA',
      {
        env: {
          RUN: 'pwd; ls /sandbox/scripts; echo $SANDBOX_FILES_DIR $SANDBOX_INPUT_DIR $HOME; echo "$SKILL_INSTRUCTIONS"; echo $EXTRA',
          EXTRA: 'ü b',
        },
      },
    );
    expect(logs).toBe('/sandbox\nSKILL.md\nmain.sh\n/sandbox/out/files/ /sandbox/input/ /tmp\nFor tests.\nü b\n');
  });

  it('input files arrive byte by byte, with folders, blanks and unicode in their names', async () => {
    const files = {
      'plain.txt': Buffer.from('hello'),
      'a folder/ünï 日本.bin': Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
      empty: Buffer.alloc(0),
    };
    const big = Buffer.alloc(1_500_000, 'abc');
    const record = await shell(
      'cd "$SANDBOX_INPUT_DIR"; find . -type f | sort | while read -r f; do echo "$(sha256sum < "$f" | cut -c1-64) $f"; done',
      {
        files: Object.fromEntries(Object.entries({ ...files, 'big.bin': big }).map(([path, data]) => [path, data.toString('base64')])),
      },
    );
    const expected = Object.entries({ ...files, 'big.bin': big })
      .map(([path, data]) => ({ path: `./${path}`, hash: createHash('sha256').update(data).digest('hex') }))
      .sort((a, b) => (Buffer.from(a.path) < Buffer.from(b.path) ? -1 : 1));
    expect(record.logs.trim().split('\n').sort()).toEqual(expected.map(({ path, hash }) => `${hash} ${path}`).sort());
  });
});

describe('list', () => {
  const listAll = async (query: string, key: string) => {
    const items: Execution[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
      const { status, body } = await box.json<{ items: Execution[]; next_cursor: string | null }>(`/v1/executions?${query}${more}`, {
        key,
      });
      expect(status).toBe(200);
      items.push(...body.items);
      cursor = body.next_cursor;
    } while (cursor !== null && items.length < 1000);
    return items;
  };

  it('pages through many rows with equal times without loss or repeat, newest first', async () => {
    const key = await box.newKey('pages');
    const base = {
      ...(await box.box.store.database.kysely.selectFrom('executions').selectAll().executeTakeFirstOrThrow()),
      tenant: 'pages',
    };
    const times = ['2030-01-01T00:00:00.000Z', '2030-01-01T00:00:00.001Z', '2030-01-02T00:00:00.000Z'];
    const rows = Array.from({ length: 60 }, (_, index) => ({ ...base, id: randomUUID(), created_at: times[index % 3] ?? '' }));
    await box.box.store.database.kysely.insertInto('executions').values(rows).execute();
    const items = await listAll('limit=7', key);
    expect(items.map((item) => item.execution_id).sort()).toEqual(rows.map(({ id }) => id).sort());
    const order = items.map((item) => item.created_at);
    expect(order).toEqual([...order].sort().reverse());
    expect((await listAll('limit=20', key)).map((item) => item.execution_id)).toEqual(items.map((item) => item.execution_id));
    expect(await listAll('since=2030-01-02T00:00:00Z&limit=500', key)).toHaveLength(20);
    expect(items[0]).not.toHaveProperty('input');
  });

  it('filters by skill, status, time and, for administrators, tenant', async () => {
    const key = await box.newKey('filters');
    await box.push(shellSkill(), key);
    await box.push(echoSkill(), key);
    await box.run('shell', { env: { RUN: 'exit 1' } }, key);
    await box.run('shell', { env: { RUN: 'true' } }, key);
    await box.run('echo', {}, key);
    const since = new Date().toISOString();
    await delay(2);
    await box.run('echo', {}, key);
    expect(await listAll('skill=shell', key)).toHaveLength(2);
    expect(await listAll('skill=shell&status=failed', key)).toHaveLength(1);
    expect(await listAll('status=queued', key)).toHaveLength(0);
    expect(await listAll(`since=${since}`, key)).toHaveLength(1);
    expect(await listAll('tenant=filters', box.key)).toHaveLength(4);
    expect(await listAll('tenant=filters', key)).toHaveLength(4);
    expect(await box.json('/v1/executions?tenant=default', { key })).toMatchObject({ status: 403, body: { error: 'tenant_mismatch' } });
    for (const query of ['status=odd', 'since=yesterday', 'skill=../x', 'cursor=abc', 'limit=-1'])
      expect(await box.json(`/v1/executions?${query}`, { key })).toMatchObject({ status: 400 });
    for (const status of executionStatuses) expect((await box.json(`/v1/executions?status=${status}`, { key })).status).toBe(200);
  });
});

describe('events', () => {
  const follow = (id: string, after?: number, signal?: AbortSignal) =>
    box.request(`/v1/executions/${id}/events`, {
      headers: after === undefined ? {} : { 'Last-Event-ID': String(after) },
      ...(signal && { signal }),
    });
  const ids = (events: readonly ServerEvent[]) => events.map(({ id }) => id);
  const textOf = (events: readonly ServerEvent[], kind: string) =>
    events
      .filter(({ event }) => event === kind)
      .map(({ data }) => data.text)
      .join('');

  it('come in order while it runs, numbered from 1, and end with the end', async () => {
    const id = await start('for i in 1 2 3 4 5; do echo line $i; echo err $i >&2; sleep 0.05; done');
    const response = await follow(id);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const events = await collect(eventsOf(response));
    // Whoever saw the end must find it in the record.
    expect((await get(id)).status).toBe('success');
    expect(ids(events)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]).toMatchObject({ event: 'status', data: { text: 'running' } });
    expect(events.at(-1)).toMatchObject({ event: 'status', data: { text: 'success' } });
    expect(textOf(events, 'stdout')).toBe('line 1\nline 2\nline 3\nline 4\nline 5\n');
    expect(textOf(events, 'stderr')).toBe('err 1\nerr 2\nerr 3\nerr 4\nerr 5\n');
    // The same story afterwards, from the record.
    expect(await collect(eventsOf(await follow(id)))).toEqual(events);
  });

  it('go on after Last-Event-ID without loss or repeat, while it runs and after', async () => {
    const id = await start('for i in $(seq 30); do echo $i; sleep 0.02; done');
    const seen: ServerEvent[] = [];
    for (let last = 0, round = 0; round < 60; round += 1) {
      const controller = new AbortController();
      let taken = 0;
      try {
        for await (const event of eventsOf(await follow(id, last, controller.signal))) {
          seen.push(event);
          last = event.id;
          taken += 1;
          if (taken === 3) break;
        }
      } finally {
        controller.abort();
      }
      if (taken < 3) break;
    }
    expect(ids(seen)).toEqual(seen.map((_, index) => index + 1));
    expect(textOf(seen, 'stdout')).toBe(Array.from({ length: 30 }, (_, i) => `${i + 1}\n`).join(''));
    const last = seen.length;
    expect(ids(await collect(eventsOf(await follow(id, 5))))).toEqual(ids(seen).slice(5));
    expect(await collect(eventsOf(await follow(id, last)))).toEqual([]);
    expect(await collect(eventsOf(await follow(id, last + 100)))).toEqual([]);
  });

  it('of many readers are the same', async () => {
    const id = await start('for i in $(seq 20); do echo $i; sleep 0.01; done');
    const [first, ...others] = await Promise.all(Array.from({ length: 10 }, async () => collect(eventsOf(await follow(id)))));
    expect(first?.length).toBeGreaterThan(3);
    for (const other of others) expect(other).toEqual(first);
  });

  it('of output that ends in the middle of a letter have one end, and the same numbers afterwards', async () => {
    const id = await start('printf "caf\\303"; sleep 0.2');
    const live = await collect(eventsOf(await follow(id)));
    expect(live.at(-1)).toMatchObject({ event: 'status', data: { text: 'success' } });
    expect(textOf(live, 'stdout')).toBe('caf\ufffd');
    expect(await collect(eventsOf(await follow(id)))).toEqual(live);
  });

  it('end only when the record has its end, however slow the database is', async () => {
    const finish = box.box.records.finish;
    const slow = vi.spyOn(box.box.records, 'finish').mockImplementation(async (...args) => {
      await delay(300);
      return finish(...args);
    });
    try {
      const id = await start('echo quick');
      for await (const { data } of eventsOf(await follow(id))) if (data.text === 'success') expect((await get(id)).status).toBe('success');
      expect((await get(id)).status).toBe('success');
    } finally {
      slow.mockRestore();
    }
  });

  it('of a queued execution that is cancelled end with its status', async () => {
    const key = await box.newKey('queued-events');
    await box.push(shellSkill(), key);
    await box.json('/v1/tenants/queued-events', { method: 'PUT', body: { slots: 1 } });
    const holder = await start('sleep 30', {}, key);
    const waiting = await start('echo never', {}, key);
    const stream = box.request(`/v1/executions/${waiting}/events`, { key }).then((response) => collect(eventsOf(response)));
    await delay(50);
    await box.json(`/v1/executions/${waiting}/cancel`, { method: 'POST', key });
    expect(await stream).toMatchObject([{ id: 1, event: 'status', data: { text: 'cancelled' } }]);
    await box.json(`/v1/executions/${holder}/cancel`, { method: 'POST', key });
  });

  it('of a flood of tiny writes do not slow the box down', async () => {
    const id = await start(`perl -e '$|=1; for (1..40000) { syswrite(STDOUT,"x"); syswrite(STDERR,"y"); }'`, { timeout: '5s' });
    const events = await collect(eventsOf(await follow(id)));
    expect(textOf(events, 'stdout').length).toBe(40_000);
    expect(events.length).toBeLessThan(25_000);
    const started = performance.now();
    await box.json('/health');
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe('artifacts', () => {
  const contents: Record<string, string> = {
    'a b.txt': 'blank',
    'ünï/日本 ✓.txt': 'unicode',
    '.hidden': 'dot',
    'dots/...x..': 'dots',
    '100%.txt': 'percent',
    'a%2Fb.txt': 'encoded slash',
    'q?x#y&z=1+2.txt': 'url signs',
    'back\\slash.txt': 'backslash',
  };
  let record: Execution;
  beforeAll(async () => {
    const code = `import os, json\nfor path, text in json.load(open("/sandbox/input.json"))["files"].items():\n  full = os.environ["SANDBOX_FILES_DIR"] + path\n  os.makedirs(os.path.dirname(full), exist_ok=True)\n  open(full, "w").write(text)`;
    record = await box.run('probe-python', { input: { code, files: contents } });
    expect(record).toMatchObject({ status: 'success', error: null });
  });
  const pathOf = (name: string) => `/v1/executions/${record.execution_id}/files/${name.split('/').map(encodeURIComponent).join('/')}`;

  it('are listed with size and hash', async () => {
    const { body } = await box.json<{ items: { path: string; size: number; sha256: string }[] }>(
      `/v1/executions/${record.execution_id}/files`,
    );
    expect(body.items).toEqual(record.files_list);
    expect(body.items.map(({ path }) => path).sort()).toEqual(Object.keys(contents).sort());
    for (const { path, size, sha256 } of body.items) {
      const data = Buffer.from(contents[path] ?? '');
      expect([size, sha256]).toEqual([data.length, createHash('sha256').update(data).digest('hex')]);
    }
  });

  it('come one by one, whatever is in their names', async () => {
    for (const [name, text] of Object.entries(contents)) {
      const response = await box.request(pathOf(name));
      expect([name, response.status, await response.text()]).toEqual([name, 200, text]);
      expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/);
      expect(response.headers.get('content-security-policy')).toContain('sandbox');
    }
    // An encoded slash is as good as a plain one.
    expect(await (await box.request(`/v1/executions/${record.execution_id}/files/${encodeURIComponent('ünï/日本 ✓.txt')}`)).text()).toBe(
      'unicode',
    );
    for (const name of ['absent', 'ünï', 'a b.txt/', '%']) expect((await box.json(pathOf(name))).status).toBe(404);
  });

  it('come together, and tar reads them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skillbox-tar-'));
    try {
      const response = await box.request(`/v1/executions/${record.execution_id}/files.tar.gz`);
      expect(response.headers.get('content-disposition')).toContain(`${record.execution_id}.tar.gz`);
      const archive = join(folder, 'all.tar.gz');
      writeFileSync(archive, Buffer.from(await response.arrayBuffer()));
      execFileSync('tar', ['-xzf', archive, '-C', folder], { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' } });
      for (const [name, text] of Object.entries(contents)) expect(readFileSync(join(folder, name), 'utf8')).toBe(text);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('come by the signed link without a key, and by no other', async () => {
    const link = record.files_url ?? '';
    expect((await fetch(link)).status).toBe(200);
    const fresh = new URL((await get(record.execution_id)).files_url ?? '');
    expect(Number(fresh.searchParams.get('expires'))).toBeGreaterThan(Date.now() + 3500_000);
    const other = (await shell('echo x > $SANDBOX_FILES_DIR/x')).execution_id;
    const changed = (change: (url: URL) => void) => {
      const url = new URL(link);
      change(url);
      return url.href;
    };
    const wrong = [
      changed((url) => url.searchParams.set('signature', `${'A'.repeat(43)}`)),
      changed((url) => url.searchParams.set('signature', '')),
      changed((url) => url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1))),
      changed((url) => url.searchParams.delete('expires')),
      changed((url) => {
        url.pathname = url.pathname.replace(record.execution_id, other);
      }),
      artifactsLink(box.box.secrets, box.url, record.execution_id, Date.now() - 3600_001),
    ];
    const bodies = await Promise.all(
      wrong.map(async (url) => {
        const response = await fetch(url);
        const { request_id: _id, ...body } = (await response.json()) as Record<string, unknown>;
        return { status: response.status, body };
      }),
    );
    for (const body of bodies) expect(body).toEqual(bodies[0]);
    expect(bodies[0]).toMatchObject({ status: 403, body: { error: 'link_expired' } });
    expect((await fetch(changed((url) => url.searchParams.delete('signature')))).status).toBe(401);
    // The signature opens the archive, nothing else.
    for (const path of ['', '/files', '/logs', '/events'])
      expect((await fetch(changed((url) => (url.pathname = `/v1/executions/${record.execution_id}${path}`)))).status).toBe(401);
  });

  it('that are no plain files are left behind, and the log says so', async () => {
    const odd = await shell('cd $SANDBOX_FILES_DIR; ln -s /etc/passwd link; mkfifo pipe; echo fine > good');
    expect(odd).toMatchObject({ status: 'success', files_list: [{ path: 'good' }] });
    expect(odd.logs).toContain('artifact link skipped: symbolic link');
    expect(odd.logs).toContain('artifact pipe skipped: fifo');
  });

  it('of an execution without any are an empty archive', async () => {
    const { execution_id } = await shell('true');
    const response = await box.request(`/v1/executions/${execution_id}/files.tar.gz`);
    const listed = execFileSync('tar', ['-tz'], { input: Buffer.from(await response.arrayBuffer()) });
    expect(listed.toString()).toBe('');
  });
});

describe('cancel', () => {
  it('stops a running execution with all its processes, and keeps the log', async () => {
    const mark = `mark-${randomUUID()}`;
    const id = await start(`echo begun; (exec -a ${mark} sleep 60) & exec -a ${mark} sleep 60`);
    await firstLog(id);
    const { status, body } = await box.json<Execution>(`/v1/executions/${id}/cancel`, { method: 'POST' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' }, logs: 'begun\n' });
    expect(body.finished_at).not.toBeNull();
    await until(() => !execFileSync('ps', ['-eo', 'args']).toString().includes(mark));
  });

  it('takes a waiting one out of the queue, and its waiter gets the record', async () => {
    const key = await box.newKey('queue-cancel');
    await box.push(shellSkill(), key);
    await box.json('/v1/tenants/queue-cancel', { method: 'PUT', body: { slots: 1 } });
    const holder = await start('sleep 30', {}, key);
    const waiter = box.json<Execution>('/v1/executions', { body: { skill: 'shell', env: { RUN: 'echo ran' } }, key });
    const { items } = await until(
      async () => (await box.json<{ items: Execution[] }>('/v1/executions?status=queued', { key })).body,
      (page) => page.items.length === 1,
    );
    const id = items[0]?.execution_id;
    const { body } = await box.json<Execution>(`/v1/executions/${id}/cancel`, { method: 'POST', key });
    expect(body).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' }, started_at: null, duration_ms: null, logs: '' });
    expect((await waiter).body).toMatchObject({ execution_id: id, status: 'cancelled' });
    await box.json(`/v1/executions/${holder}/cancel`, { method: 'POST', key });
    expect((await box.run('shell', { env: { RUN: 'echo free' } }, key)).logs).toBe('free\n');
  });

  it('of a finished one is 409 and changes nothing', async () => {
    const record = await shell('exit 3');
    const answer = await box.json(`/v1/executions/${record.execution_id}/cancel`, { method: 'POST' });
    expect(answer).toMatchObject({ status: 409, body: { error: 'already_finished' } });
    expect((await get(record.execution_id)).error?.code).toBe('exit_nonzero');
  });

  it('by many at once ends it once', async () => {
    const id = await start('sleep 30');
    const answers = await Promise.all(Array.from({ length: 8 }, () => box.json(`/v1/executions/${id}/cancel`, { method: 'POST' })));
    for (const { status, body } of answers) expect([200, 409]).toContain(status === 200 && body.status !== 'cancelled' ? -1 : status);
    expect((await get(id)).status).toBe('cancelled');
    const finished = await box.box.events.list({ subject: { type: 'execution', id }, type: 'execution.finished', limit: 10 });
    expect(finished).toHaveLength(1);
  });
});

describe('Idempotency-Key', () => {
  const send = (idempotencyKey: string, body: Record<string, unknown>, key?: string) =>
    box.json<Execution>('/v1/executions', {
      body: { skill: 'shell', env: { RUN: 'echo $RANDOM$RANDOM' }, ...body },
      headers: { 'Idempotency-Key': idempotencyKey },
      ...(key && { key }),
    });

  it('makes the same request one execution, before and after its end', async () => {
    const idempotencyKey = randomUUID();
    const first = await send(idempotencyKey, {});
    const again = await send(idempotencyKey, {});
    const unwaited = await send(idempotencyKey, { wait: false });
    expect([first.status, again.status, unwaited.status]).toEqual([200, 200, 200]);
    expect(again.body).toMatchObject({ execution_id: first.body.execution_id, logs: first.body.logs });
    expect(unwaited.body.execution_id).toBe(first.body.execution_id);
  });

  it('refuses it with another request', async () => {
    const idempotencyKey = randomUUID();
    await send(idempotencyKey, {});
    expect(await send(idempotencyKey, { input: 1 })).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } });
    expect(await send(idempotencyKey, { env: { RUN: 'echo $RANDOM$RANDOM', A: 'b' } })).toMatchObject({ status: 409 });
  });

  it('sent 20 times at once runs once', async () => {
    const key = await box.newKey('idempotent');
    await box.push(shellSkill(), key);
    // With one slot the losers of the race stand in the queue for a moment: their places must come free again.
    await box.json('/v1/tenants/idempotent', { method: 'PUT', body: { slots: 1 } });
    const idempotencyKey = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(idempotencyKey, {}, key)));
    expect(new Set(answers.map(({ body }) => body.execution_id)).size).toBe(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.logs)).size).toBe(1);
    const { body } = await box.json<{ items: unknown[] }>('/v1/executions', { key });
    expect(body.items).toHaveLength(1);
    expect((await box.run('shell', { env: { RUN: 'echo free' }, timeout: '5s' }, key)).logs).toBe('free\n');
  });

  it('of a loser whose turn in the queue came all the same leaves the slot free', async () => {
    const key = await box.newKey('idempotent-slow');
    await box.push(shellSkill(), key);
    await box.json('/v1/tenants/idempotent-slow', { method: 'PUT', body: { slots: 1 } });
    await start('sleep 0.2', {}, key);
    // Both ask before either has written, and the second writes when the first has long run.
    const unknown = vi.spyOn(box.box.records, 'findByKey').mockResolvedValue(undefined);
    const insert = box.box.records.insert;
    let inserts = 0;
    const slow = vi.spyOn(box.box.records, 'insert').mockImplementation(async (...args) => {
      inserts += 1;
      if (inserts === 2) await delay(800);
      return insert(...args);
    });
    try {
      const idempotencyKey = randomUUID();
      const answers = await Promise.all([send(idempotencyKey, {}, key), send(idempotencyKey, {}, key)]);
      expect(new Set(answers.map(({ body }) => body.execution_id)).size).toBe(1);
      expect(inserts).toBe(2);
    } finally {
      unknown.mockRestore();
      slow.mockRestore();
    }
    const after = await box.json<Execution>('/v1/executions', {
      body: { skill: 'shell', env: { RUN: 'echo free' } },
      key,
      signal: AbortSignal.timeout(5000),
    });
    expect(after.body.logs).toBe('free\n');
  });

  it('belongs to its tenant', async () => {
    const key = await box.newKey('idempotent-b');
    await box.push(shellSkill(), key);
    const idempotencyKey = randomUUID();
    const mine = await send(idempotencyKey, {});
    const theirs = await send(idempotencyKey, { input: 'other' }, key);
    expect(theirs.status).toBe(200);
    expect(theirs.body.execution_id).not.toBe(mine.body.execution_id);
  });

  it('is not used up by a request that was refused', async () => {
    const idempotencyKey = randomUUID();
    expect((await send(idempotencyKey, { skill: 'absent' })).status).toBe(404);
    expect((await send(idempotencyKey, {})).status).toBe(200);
  });

  it('that is no key is refused', async () => {
    for (const bad of ['x'.repeat(201), 'two words'])
      expect(await send(bad, {})).toMatchObject({ status: 400, body: { error: 'bad_request' } });
  });
});

it('answers 404 for an execution that is not there, and 400 for what is no id', async () => {
  for (const path of ['', '/logs', '/events', '/files', '/files/x', '/files.tar.gz']) {
    expect(await box.json(`/v1/executions/${randomUUID()}${path}`)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await box.json(`/v1/executions/nonsense${path}`)).toMatchObject({ status: 400, body: { error: 'bad_request' } });
  }
});

it('cuts a time limit to the maximum of the server', async () => {
  const record = await endless;
  expect(record).toMatchObject({ status: 'timeout', error: { code: 'timeout', message: expect.stringContaining('6s') } });
  expect(record.duration_ms).toBeGreaterThanOrEqual(maxTimeoutMs);
  expect(record.duration_ms).toBeLessThan(maxTimeoutMs + 2000);
});

it('deletes what has ended, with its bytes, and nothing that runs', async () => {
  const used = async () => (await box.box.tenants.get('default')).storage_used_bytes;
  const record = await box.run('shell', { env: { RUN: 'echo logged; echo kept > /sandbox/out/files/kept.txt' } });
  const before = await used();
  const path = `/v1/executions/${record.execution_id}`;
  expect((await box.request(path, { method: 'DELETE' })).status).toBe(204);
  expect(await used()).toBe(before - 'logged\n'.length - 'kept\n'.length);
  expect((await box.request(path)).status).toBe(404);
  expect((await box.request(`${path}/files/kept.txt`)).status).toBe(404);
  const { body } = await box.json<{ execution_id: string }>('/v1/executions', {
    body: { skill: 'shell', env: { RUN: 'sleep 30' }, wait: false },
  });
  const running = `/v1/executions/${body.execution_id}`;
  expect(await box.json(running, { method: 'DELETE' })).toMatchObject({ status: 409, body: { error: 'not_finished' } });
  await box.request(`${running}/cancel`, { method: 'POST' });
});
