/** The built CLI as a user has it: a child process in an empty folder, against a real box that it starts itself. */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identify } from '../../packages/box/src/process/identity.ts';

const root = join(import.meta.dirname, '../..');
const bin = join(root, 'packages/box/bin/skillbox.js');
const dist = join(root, 'packages/box/dist');
let folder = '';

beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'packages/box/scripts/build.mjs')]);
  folder = mkdtempSync(join(tmpdir(), 'skillbox-cli-'));
  for (const [name, text] of Object.entries(sleeper)) {
    mkdirSync(join(folder, 'sleeper'), { recursive: true });
    writeFileSync(join(folder, 'sleeper', name), text);
  }
});

afterAll(() => {
  run('down');
  rmSync(folder, { recursive: true, force: true });
});

interface Call {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SKILLBOX_')));
const environment = (env: Record<string, string> = {}) => ({ ...clean, SKILLBOX_API_PORT: '0', NO_COLOR: '1', ...env });

function run(...args: string[]): Call {
  return runWith({}, ...args);
}

function runWith({ env, input, cwd = folder }: { env?: Record<string, string>; input?: string; cwd?: string }, ...args: string[]): Call {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    cwd,
    env: environment(env),
    encoding: 'utf8',
    timeout: 60_000,
    ...(input !== undefined && { input }),
  });
  return { code: status, stdout, stderr };
}

/** stdout of a good call, which is one JSON value and nothing else. */
function json<T = Record<string, never>>(...args: string[]): T {
  const { code, stdout, stderr } = run(...args, '--json');
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

function start(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env: environment(env) });
  const result = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    result.stdout += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    result.stderr += chunk;
  });
  const ended = new Promise<Call>((resolve) => child.once('close', (code) => resolve({ code, ...result })));
  return { child, result, ended };
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (let waited = 0; waited < 20_000; waited += 50) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited in vain: ${what}`);
}

const sleeper = {
  'SKILL.md':
    '---\nname: sleeper\nversion: 1.0.0\ndescription: Sleeps and talks, for tests.\nlang: bash\n---\n\nSet SECONDS_TO_SLEEP and CODE.\n',
  'main.sh':
    'echo first; echo second >&2; sleep "$((SECONDS_TO_SLEEP + 0))"; cat "$SANDBOX_INPUT_DIR"/* 2>/dev/null; echo "$SANDBOX_INPUT" > "$SANDBOX_OUTPUT"; exit "$((CODE + 0))"\n',
};
const fiveNumbers = ['--input', '{"data":[1,2,3,4,5]}'];
const missing = '00000000-0000-4000-8000-000000000000';

describe('a box from the shell', () => {
  it('without one, says so and what to do', () => {
    const { code, stderr, stdout } = runWith({ env: { SKILLBOX_API_PORT: '1' } }, 'skill', 'list');
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toContain('No box answers at http://127.0.0.1:1');
    expect(stderr).toContain('skillbox up');
    expect(run('down')).toMatchObject({ code: 0, stdout: expect.stringContaining('No box runs') });
  });

  it('starts, says where it is, and starting it again changes nothing', () => {
    const first = run('up');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(
      /The box is up\.\nurl +http:\/\/127\.0\.0\.1:\d+\ndashboard +http:\/\/127\.0\.0\.1:\d+\/ui\/ .*\nadmin key +\S+admin\.key/,
    );
    const again = json<{ url: string; admin_key_file: string; services: object[] }>('up');
    expect(again.services).toMatchObject([{ id: 'api', result: 'already-running' }]);
    expect(run('up').stdout).toMatch(/^✓ The box is up already\.\nurl /);
    expect(first.stdout).toContain(again.url);
    expect(statSync(again.admin_key_file).mode & 0o777).toBe(0o600);
    expect(run('health')).toMatchObject({ code: 0, stdout: expect.stringMatching(/database +ok/) });
  });

  it('takes the example skills, and the same again as unchanged', () => {
    const examples = readdirSync(join(root, 'examples/skills'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name } of examples) {
      const path = join(root, 'examples/skills', name);
      expect(run('skill', 'push', path)).toMatchObject({ code: 0, stdout: expect.stringContaining(`Added ${name}`) });
      expect(json('skill', 'push', path)).toMatchObject({ name, created: false });
    }
    expect(run('skill', 'push', 'sleeper').code).toBe(0);
    const listed = run('skill', 'list').stdout;
    expect(listed).toMatch(/^NAME +VERSION +RUNS ON +DEPENDENCIES +DESCRIPTION\ndata-analysis +1\.0\.0 +python +-/);
    expect(run('skill', 'search', 'sentences').stdout).toContain('text-summary');
    expect(json('skill', 'show', 'data-analysis')).toMatchObject({ version: '1.0.0', lang: 'python' });
  });

  it('refuses other content under the same version, and names the next', () => {
    cpSync(join(folder, 'sleeper'), join(folder, 'other'), { recursive: true });
    writeFileSync(join(folder, 'other/main.sh'), 'echo other\n');
    const { code, stderr } = run('skill', 'push', 'other');
    expect(code).toBe(5);
    expect(stderr).toContain('Set version: 1.0.1');
    expect(stderr).toMatch(/Request id: \S+/);
  });
});

describe('run', () => {
  it('prints the record as JSON', () => {
    const { code, stdout, stderr } = run('run', 'data-analysis', ...fiveNumbers, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('"status":"success"');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success', output: { row_count: 5, mean: 3 }, files_list: [{ path: 'chart.svg' }] });
  });

  it('prints status, output and artifacts for people', () => {
    const { stdout } = run('run', 'data-analysis', ...fiveNumbers);
    expect(stdout).toMatch(/^✓ success {2}data-analysis 1\.0\.0/);
    expect(stdout).toContain('"mean": 3');
    expect(stdout).toMatch(/Artifacts\n {2}chart\.svg/);
  });

  it('downloads artifacts, then and later', () => {
    const record = json<{ execution_id: string; files_list: { sha256: string }[] }>(
      'run',
      'data-analysis',
      ...fiveNumbers,
      '--download',
      'out',
    );
    const chart = readFileSync(join(folder, 'out/chart.svg'));
    expect(createHash('sha256').update(chart).digest('hex')).toBe(record.files_list[0]?.sha256);
    expect(chart.toString()).toContain('<svg');
    expect(run('exec', 'files', record.execution_id, '--download', 'later')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Saved in later'),
    });
    expect(readFileSync(join(folder, 'later/chart.svg')).equals(chart)).toBe(true);
  });

  it('takes input from stdin and files, and files as files', () => {
    expect(JSON.parse(runWith({ input: '{"from":"stdin"}' }, 'run', 'sleeper', '--input', '-', '--json').stdout)).toMatchObject({
      output: { from: 'stdin' },
    });
    writeFileSync(join(folder, 'in.json'), '{"from":"file"}');
    const record = json<{ logs: string }>('run', 'sleeper', '--input', '@in.json', '--file', 'in.json', '--file', 'b.json=in.json');
    expect(record).toMatchObject({ output: { from: 'file' } });
    expect(record.logs.split('{"from":"file"}')).toHaveLength(3);
  });

  it('ends with 1 when the skill failed, and shows its log', () => {
    const { code, stdout } = run('run', 'sleeper', '--env', 'CODE=3');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ failed/);
    expect(stdout).toContain('It exited with code 3.');
    expect(stdout).toContain('Log\nfirst\nsecond');
    const timeout = run('run', 'sleeper', '--env', 'SECONDS_TO_SLEEP=20', '--timeout', '1s', '--json');
    expect(timeout.code).toBe(1);
    expect(JSON.parse(timeout.stdout)).toMatchObject({ status: 'timeout' });
  });

  it('runs once for the same idempotency key', () => {
    const call = ['run', 'sleeper', '--idempotency-key', 'only-once'];
    const [once, twice] = [json<{ execution_id: string }>(...call), json<{ execution_id: string }>(...call)];
    expect(twice.execution_id).toBe(once.execution_id);
  });

  it('shows output while it runs with --follow, on the stream it was written to', async () => {
    const { result, ended } = start(['run', 'sleeper', '--follow', '--env', 'SECONDS_TO_SLEEP=2']);
    await until('the first line', () => result.stdout.includes('first'));
    expect(result.stdout).not.toContain('success');
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'second\n' });
    expect(stdout).toMatch(/^first\n\n✓ success/);
  });

  it('keeps stdout for the record with --follow --json', () => {
    const { stdout, stderr } = run('run', 'sleeper', '--follow', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success' });
    expect(stderr).toContain('first\n');
    expect(stderr).toContain('second\n');
  });

  it.each([[[]], [['--follow']]])('Ctrl-C cancels the execution %j', async (more) => {
    const name = `cancel${more.length}`;
    const { child, ended } = start(['run', 'sleeper', '--json', '--input', `"${name}"`, '--env', 'SECONDS_TO_SLEEP=60', ...more]);
    await until('it runs', () => json<{ items: object[] }>('exec', 'list', '--status', 'running').items.length > 0);
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'cancelled', input: name });
    expect(stderr).toContain('Cancelling');
  });

  it('does not wait with --no-wait, and can be followed and cancelled', () => {
    const { execution_id: id } = json<{ execution_id: string }>('run', 'sleeper', '--no-wait', '--env', 'SECONDS_TO_SLEEP=60');
    expect(json('exec', 'cancel', id)).toMatchObject({ status: 'cancelled' });
    expect(run('exec', 'cancel', id)).toMatchObject({ code: 5, stderr: expect.stringContaining('has ended') });
  });
});

describe('executions, keys and tenants', () => {
  it('lists, shows and reads them', () => {
    const { items } = json<{ items: { execution_id: string }[] }>('exec', 'list', '--skill', 'data-analysis', '--limit', '1');
    const id = items[0]?.execution_id ?? '';
    expect(run('exec', 'list', '--limit', '1').stdout).toMatch(/^ID +STATUS.*\n[\s\S]*More: add --cursor /);
    expect(run('exec', 'show', id).stdout).toContain('✓ success');
    expect(run('exec', 'logs', id)).toMatchObject({ code: 0, stdout: expect.stringContaining('Analysed 5 rows') });
    const events = run('exec', 'logs', id, '--follow', '--json').stdout.trim().split('\n');
    expect(events.map((line) => JSON.parse(line) as object)).toContainEqual(expect.objectContaining({ event: 'status', text: 'success' }));
  });

  it('makes, uses and revokes a key', () => {
    const { id, key } = json<{ id: string; key: string }>(
      'key',
      'create',
      'ci',
      '--tenant',
      'acme',
      '--scopes',
      'skills:read,executions:run',
    );
    expect(run('key', 'list').stdout).toMatch(new RegExp(`${id} +ci +acme +agt +active +never`));
    expect(json<{ items: object[] }>('skill', 'list', '-k', key).items).toEqual([]);
    expect(run('key', 'list', '-k', key)).toMatchObject({ code: 3, stderr: expect.stringContaining('lacks the scope admin') });
    expect(run('-t', 'default', 'skill', 'list', '-k', key).code).toBe(3);
    expect(run('key', 'revoke', id)).toMatchObject({ code: 0, stdout: expect.stringContaining('Revoked') });
    expect(run('skill', 'list', '-k', key)).toMatchObject({ code: 3, stderr: expect.stringContaining('not valid') });
    expect(runWith({ env: { SKILLBOX_API_KEY: key } }, 'skill', 'list').code).toBe(3);
  });

  it('acts for a tenant with -t', () => {
    expect(json<{ items: object[] }>('skill', 'list', '-t', 'acme').items).toEqual([]);
    expect(json('tenant', 'set', 'acme', '--slots', '3')).toMatchObject({ name: 'acme', limits: { slots: 3 } });
    expect(run('tenant', 'list').stdout).toMatch(/acme +3/);
    expect(run('events', '--type', 'audit.').stdout).toContain('audit.tenant.set');
  });

  it('deletes a version', () => {
    expect(run('skill', 'delete', 'word-counter', '1.0.0')).toMatchObject({ code: 0, stdout: 'Deleted word-counter 1.0.0.\n' });
    expect(run('skill', 'show', 'word-counter').code).toBe(4);
  });
});

describe('what goes wrong', () => {
  it.each([
    [['run', 'data-analysis', '--input', '{'], 2, 'usage'],
    [['run', 'data-analysis', '--input', '{"data":true}'], 2, 'invalid_input'],
    [['run', 'nope'], 4, 'skill_not_found'],
    [['run', 'sleeper', '--version', '9.9.9'], 4, 'skill_not_found'],
    [['run', 'sleeper', '--env', 'PATH=/x'], 2, 'invalid_env'],
    [['exec', 'show', missing], 4, 'not_found'],
    [['exec', 'show', 'not-an-id'], 2, 'usage'],
    [['exec', 'list', '--cursor', 'wrong'], 2, 'invalid_cursor'],
    [['skill', 'list', '-k', `sk-${'0'.repeat(48)}`], 3, 'unauthorized'],
    [['skill', 'list', '-s', 'http://127.0.0.1:1'], 7, 'unreachable'],
    [['skill', 'list', '-s', 'nonsense'], 2, 'config_invalid'],
    [['skill', 'push', 'nowhere'], 2, 'usage'],
    [['skill', 'lsit'], 2, 'usage'],
    [['skill', 'list', '--frobnicate'], 2, 'usage'],
    [['--manifest', 'nowhere.yaml', 'skill', 'list'], 2, 'manifest_invalid'],
    // Where 2 is drift.
    [['status', '--frobnicate'], 1, 'usage'],
    [['--output', 'text', 'doctor', '--frobnicate'], 1, 'usage'],
    [['--manifest', 'nowhere.yaml', 'status'], 1, 'manifest_invalid'],
  ])('%j ends with %d and says %s, for people and for programs', (args, code, error) => {
    const people = run(...args);
    expect(people).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(/^Error: .+\n/) });
    const program = run(...args, '--json');
    expect({ code: program.code, stderr: program.stderr }).toEqual({ code, stderr: '' });
    expect(JSON.parse(program.stdout)).toMatchObject({ error, message: expect.any(String), hint: expect.any(String) });
  });

  it('an input that is too large is refused, not cut off', () => {
    writeFileSync(join(folder, 'big.json'), JSON.stringify('x'.repeat(20_000_000)));
    const { code, stdout } = run('run', 'sleeper', '--input', '@big.json', '--json');
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: 'too_large' });
  });

  it('the key of this box is not shown to another server', async () => {
    const seen: (string | undefined)[] = [];
    const stranger = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{"items":[],"next_cursor":null}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const { ended } = start(['skill', 'list', '--server', url]);
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('No skills yet') });
    await new Promise((resolve) => stranger.close(resolve));
    expect(seen).toEqual([undefined]);
  });
});

describe('authoring', () => {
  it.each(['python', 'node', 'bash'])('a new %s skill lints clean, packs, pushes and runs', (lang) => {
    const name = `made-${lang}`;
    expect(json('skill', 'init', name, '--lang', lang)).toMatchObject({ name });
    expect(run('skill', 'lint', name)).toMatchObject({ code: 0, stdout: '✓ Nothing to mend.\n' });
    const { file } = json<{ file: string }>('skill', 'package', name, '--out', `${name}.zip`);
    expect(json('skill', 'push', file)).toMatchObject({ name, created: true });
    expect(json('run', name, '--input', '{"name":"Ada"}')).toMatchObject({ status: 'success' });
    expect(run('skill', 'init', name)).toMatchObject({ code: 5, stderr: expect.stringContaining('already') });
  });

  it('lint says file, line, what and how, and nothing is pushed', () => {
    mkdirSync(join(folder, 'broken'), { recursive: true });
    writeFileSync(join(folder, 'broken/SKILL.md'), '---\nname: broken\ndescription: x\nlang: ruby\n---\n');
    const linted = run('skill', 'lint', 'broken');
    expect(linted.code).toBe(2);
    expect(linted.stdout).toMatch(/broken\/SKILL\.md:4: error: .*\n {4}\S/);
    const program = run('skill', 'lint', 'broken', '--json');
    expect(JSON.parse(program.stdout)).toMatchObject({ valid: false, findings: expect.any(Array) });
    expect(run('skill', 'push', 'broken')).toMatchObject({ code: 2, stderr: expect.stringContaining('SKILL.md:4') });
    expect(run('skill', 'show', 'broken').code).toBe(4);
  });
});

describe('without a box', () => {
  it('doctor looks at this machine', () => {
    const { code, stdout } = run('doctor', '--json');
    const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: { name: string; state: string; fix?: string }[] };
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['node', 'manifest', 'bubblewrap', 'cgroup-memory', 'python skills', 'disk', 'server']),
    );
    expect(code).toBe(healthy ? 0 : 2);
    for (const { name, state, fix } of checks) if (state === 'fail') expect({ name, fix }).toEqual({ name, fix: expect.any(String) });
    expect(run('doctor').stdout).toContain('bubblewrap');
  });

  it('config validate points at line and fix', () => {
    const file = join(folder, 'bad.yaml');
    writeFileSync(file, 'version: 1\nsandbx: {}\n');
    const { code, stderr } = run('config', 'validate', file);
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:2:1: error:`);
    expect(stderr).toContain('sandbox');
    writeFileSync(file, 'version: 1\nname: my-box\n');
    expect(run('config', 'validate', file)).toMatchObject({ code: 0, stdout: expect.stringContaining('is valid') });
    expect(JSON.parse(run('config', 'validate', file, '--json').stdout)).toMatchObject({ valid: true });
  });

  it('config show says who gave a value and hides secrets', () => {
    const env = { SKILLBOX_API_KEY: 'sk-very-secret', SKILLBOX_MAX_TIMEOUT: '5m' };
    const { stdout } = runWith({ env }, 'config', 'show', '--state-root', 'elsewhere');
    expect(stdout).not.toContain('very-secret');
    expect(stdout).toMatch(/SKILLBOX_API_KEY +\*{8} +environment/);
    expect(stdout).toMatch(/SKILLBOX_MAX_TIMEOUT +5m +environment/);
    expect(stdout).toMatch(/SKILLBOX_STATE_ROOT +\S+elsewhere +flag/);
    expect(stdout).toMatch(/SKILLBOX_BIND +127\.0\.0\.1 +default/);
    expect(stdout).toContain('version: 1');
  });

  it('config schema is the one of the docs', () => {
    expect(JSON.parse(run('config', 'schema').stdout)).toEqual(
      JSON.parse(readFileSync(join(root, 'docs/schema/skillbox.schema.json'), 'utf8')),
    );
  });

  it('help comes from the build and from the commands alike', () => {
    const built = JSON.parse(readFileSync(join(dist, 'help.json'), 'utf8')) as Record<string, string>;
    for (const words of ['', 'skill', 'run', 'skill show']) {
      expect(run(...words.split(' ').filter(Boolean), '--help')).toEqual({ code: 0, stdout: built[words], stderr: '' });
    }
    expect(run('--json', 'run', '--help').stdout).toBe(built.run);
    expect(run().stdout).toBe(built['']);
    expect(run('skill').stdout).toBe(built.skill);
    for (const page of Object.values(built)) expect(page).toMatch(/Examples:|Commands:/);
  });

  it('completion scripts are valid', () => {
    const { stdout } = run('completion', 'bash');
    expect(spawnSync('bash', ['-n'], { input: stdout, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    for (const shell of ['zsh', 'fish'])
      expect(run('completion', shell)).toMatchObject({ code: 0, stdout: expect.stringContaining('skillbox') });
    expect(run('completion', 'tcsh').code).toBe(2);
  });

  it('version is that of the package', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'packages/box/package.json'), 'utf8')) as { version: string };
    for (const words of ['version', '--version', '-V'])
      expect(run(words)).toEqual({ code: 0, stdout: `skillbox ${version}\n`, stderr: '' });
    expect(json('version')).toMatchObject({ version });
  });

  it('a call loads neither the server nor a database', () => {
    const loaded = new Set<string>();
    const follow = (file: string): void => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const [, name = ''] of readFileSync(join(dist, file), 'utf8').matchAll(/\b(?:from|import)"([@\w./][\w./@:-]*)"/g)) {
        if (name.startsWith('./')) follow(name.slice(2));
        else loaded.add(name);
      }
    };
    follow('cli.js');
    for (const file of readdirSync(dist)) if (/^(execute|client|connection|config)-\w+\.js$/.test(file)) follow(file);
    const outside = [...loaded].filter((name) => !name.endsWith('.js') && !name.startsWith('node:') && !/^(fs|path|os|url)$/.test(name));
    expect(outside).toEqual([]);
    expect(loaded).toContain('vendor-zod.js');
  });
});

describe('going down', () => {
  it('stops the box, and stopping it again is fine', () => {
    const { services } = json<{ services: { pid: number }[] }>('up');
    const pid = services[0]?.pid ?? 0;
    expect(run('down')).toMatchObject({ code: 0, stdout: '✓ The box is down.\n' });
    expect(identify(pid)).toBeUndefined();
    expect(json<{ services: object[] }>('down').services).toMatchObject([{ id: 'api', result: 'not-running' }]);
    expect(run('down')).toMatchObject({ code: 0, stdout: expect.stringContaining('No box runs') });
    expect(run('health').code).toBe(7);
  });

  it('kills a server that does not stop', () => {
    const { services } = json<{ services: { pid: number }[] }>('up');
    const pid = services[0]?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    const { code, stdout } = runWith({ env: { SKILLBOX_DRAIN_TIMEOUT: '0s' } }, 'down');
    expect(code).toBe(0);
    expect(stdout).toContain('was killed');
    expect(identify(pid)).toBeUndefined();
  });

  it('serve lets an execution finish on SIGTERM, then ends with 0', async () => {
    const server = start(['serve', '--json']);
    await until('the server is up', () => server.result.stdout.includes('"url"'));
    const work = start(['run', 'sleeper', '--json', '--env', 'SECONDS_TO_SLEEP=2']);
    await until('it runs', () => json<{ items: object[] }>('exec', 'list', '--status', 'running').items.length > 0);
    server.child.kill('SIGTERM');
    const [{ code: worked, stdout }, { code }] = await Promise.all([work.ended, server.ended]);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success' });
    expect({ worked, code }).toEqual({ worked: 0, code: 0 });
  });

  it('serve leaves at once on a second signal', async () => {
    const server = start(['serve', '--json']);
    await until('the server is up', () => server.result.stdout.includes('"url"'));
    json('run', 'sleeper', '--no-wait', '--env', 'SECONDS_TO_SLEEP=60');
    server.child.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 700));
    const since = Date.now();
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 143 });
    expect(Date.now() - since).toBeLessThan(2000);
  });

  it('a port in use is told clearly, by serve and by up, and leaves nothing running', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const port = String((taken.address() as AddressInfo).port);
    const served = await start(['serve', '--port', port]).ended;
    expect(served).toMatchObject({ code: 1, stderr: expect.stringContaining(`Port ${port} on 127.0.0.1 is in use`) });
    const upped = await start(['up', '--port', port]).ended;
    expect(upped).toMatchObject({ code: 1, stdout: '' });
    expect(upped.stderr).toContain('The server did not start');
    expect(upped.stderr).toContain(`Port ${port} on 127.0.0.1 is in use`);
    const doctored = await start(['doctor'], { SKILLBOX_API_PORT: port }).ended;
    expect(doctored).toMatchObject({ code: 2, stdout: expect.stringContaining('is used by another program') });
    await new Promise((resolve) => taken.close(resolve));
    expect(run('down').stdout).toContain('No box runs');
  });

  it('a second server in the same folder is refused as such, also on the port of the first', async () => {
    const { url } = json<{ url: string }>('up');
    const second = await start(['serve', '--port', new URL(url).port]).ended;
    expect(second).toMatchObject({ code: 5, stderr: expect.stringContaining('Another server uses') });
    expect(run('down').code).toBe(0);
  });

  it('two at once start one server', async () => {
    const both = await Promise.all([start(['up', '--json']).ended, start(['up', '--json']).ended]);
    const pids = both.map(({ stdout }) => (JSON.parse(stdout) as { services: { pid: number }[] }).services[0]?.pid);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(pids[0]).toBe(pids[1]);
    expect(run('down').code).toBe(0);
  });
});
