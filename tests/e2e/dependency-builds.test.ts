/** How dependencies are installed: once, held to the index, through crashes; and what a run gets of them. With an index of our own. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BoxEvent, Execution, Page, Sandbox, Tenant } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';
import { builtDependencies, dependenciesOf, pythonAnswer, skillFiles } from '../support/skills.ts';
import { main } from './cli-process.ts';

const limit = 90_000;
let index: PackageIndex;
let box: TestBox;
beforeAll(async () => {
  index = await startPackageIndex();
  index.add('plain', '');
  index.add('slow', 'import time; print("sleeping", flush=True); time.sleep(6)');
  index.add('endless', 'import time; time.sleep(600)');
  box = await startTestBox({ ...index.env, SKILLBOX_QUEUE_TIMEOUT: '60s' });
});
afterAll(async () => {
  await box?.stop();
  await index?.stop();
});

const needs = (name: string, packages: string, code = 'value = 1') =>
  skillFiles(name, 'python', { 'requirements.txt': packages, 'main.py': pythonAnswer(code) });
const logOf = async (name: string, on: Pick<TestBox, 'request'> = box): Promise<string> =>
  (await on.request(`/v1/skills/${name}/latest/build`)).text();
const events = async (type: string): Promise<BoxEvent[]> =>
  (await box.json<Page<BoxEvent>>(`/v1/events?type=${type}&limit=500`)).body.items;
const usage = async (): Promise<number> =>
  (await box.json<Page<Tenant>>('/v1/tenants')).body.items.find(({ name }) => name === 'default')?.storage_used_bytes ?? 0;
const buildSandboxes = async (): Promise<Sandbox[]> =>
  (await box.box.sandboxes.list({ tenant: 'skillbox-builds', states: ['requested', 'provisioning', 'ready', 'paused'], limit: 100 })).items;

describe('a build', () => {
  it(
    'is done once for all skills of a tenant that need the same, and again for another tenant',
    async () => {
      const names = ['one', 'two', 'three', 'four', 'five'];
      await Promise.all(names.map((name) => box.push(needs(name, 'plain==1.0\n', 'import plain\nvalue = plain.value'))));
      const runs = await Promise.all(names.map((name) => box.run(name)));
      expect(runs.map(({ output, error }) => error ?? output)).toEqual([1, 1, 1, 1, 1]);
      expect(index.downloads('plain')).toBe(1);

      const key = await box.newKey('other-tenant');
      await box.push(needs('one', 'plain==1.0\n', 'import plain\nvalue = plain.value'), key);
      expect((await box.run('one', {}, key)).output).toBe(1);
      expect(index.downloads('plain')).toBe(2);
      const available = await events('dependencies.available');
      expect(available.map(({ tenant, data }) => [tenant, data.kind, (data.skills as string[]).length > 0])).toEqual([
        ['other-tenant', 'python', true],
        ['default', 'python', true],
      ]);
    },
    limit,
  );

  it(
    'reaches the index and nothing else, and says so',
    async () => {
      index.add(
        'curious',
        `
import os, socket, urllib.request
def attempt(what, action):
    try:
        action(); print(what, "REACHED", flush=True)
    except Exception as error: print(what, "refused", type(error).__name__, getattr(error, "code", ""), flush=True)
attempt("proxy", lambda: urllib.request.urlopen("http://elsewhere.test:${index.elsewhere.port}/", timeout=5))
attempt("direct", lambda: socket.create_connection(("127.0.0.1", ${index.elsewhere.port}), 5))
attempt("name", lambda: socket.getaddrinfo("elsewhere.test", 80))
print("environment", sorted(name for name in os.environ if "KEY" in name or "SKILLBOX" in name), flush=True)
raise SystemExit("nothing more to do")
`,
      );
      await box.push(needs('curious', 'curious==1.0\n'));
      expect(await builtDependencies(box, 'curious')).toMatchObject({ state: 'failed' });
      const log = await logOf('curious');
      expect(log).toContain('proxy refused HTTPError 403');
      expect(log).toContain('direct refused ConnectionRefusedError');
      expect(log).toContain('name refused gaierror');
      expect(log).toContain('environment []');
      expect(log).not.toContain('REACHED');
      expect(log).toContain('[skillbox] a build reaches only index.test');
      expect(index.elsewhere.reached).toBe(0);
    },
    limit,
  );

  it(
    'is refused what it leaves besides files, folders and links inside',
    async () => {
      index.add('linked', 'import os\nos.symlink("/etc/passwd", "/home/user/out/stolen")');
      await box.push(needs('linked', 'linked==1.0\n'));
      expect(await builtDependencies(box, 'linked')).toMatchObject({
        state: 'failed',
        error: expect.stringContaining('"stolen" is a link that may lead out'),
      });
    },
    limit,
  );

  it(
    'that failed is tried again when somebody asks for it',
    async () => {
      await box.push(needs('later', 'later==1.0\n', 'import later\nvalue = later.value'));
      expect(await builtDependencies(box, 'later')).toMatchObject({ state: 'failed', error: expect.stringContaining('later==1.0') });
      expect((await box.json('/v1/executions', { body: { skill: 'later' } })).body.error).toBe('dependencies_failed');
      index.add('later', '');
      expect(await box.json('/v1/skills/later/latest/build', { method: 'POST', body: {} })).toMatchObject({
        status: 202,
        body: { state: 'building' },
      });
      expect((await box.run('later')).output).toBe(1);
      // What is there is left alone.
      const again = await box.json('/v1/skills/later/latest/build', { method: 'POST', body: {} });
      expect(again).toMatchObject({ status: 200, body: { state: 'available' } });
      expect(index.downloads('later')).toBe(1);
      expect(await box.json('/v1/skills/probe/latest/build', { method: 'POST', body: {} })).toMatchObject({ status: 404 });
    },
    limit,
  );

  it(
    'counts as the tenant’s bytes until the last skill that needs it is deleted',
    async () => {
      const before = await usage();
      index.add('counted', '');
      const files = needs('counted-a', 'counted==1.0\n');
      const skillBytes = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      await box.push(files);
      await box.push({ ...files, 'SKILL.md': files['SKILL.md']?.replace('counted-a', 'counted-b') ?? '' });
      await builtDependencies(box, 'counted-a');
      const packed = (await usage()) - before - 2 * skillBytes;
      expect(packed).toBeGreaterThan(100);
      await box.request('/v1/skills/counted-a/1.0.0', { method: 'DELETE' });
      expect(await usage()).toBe(before + skillBytes + packed);
      expect(await dependenciesOf(box, 'counted-b')).toMatchObject({ state: 'available' });
      await box.request('/v1/skills/counted-b/1.0.0', { method: 'DELETE' });
      expect(await usage()).toBe(before);
    },
    limit,
  );

  it(
    'is given up when its skill is deleted meanwhile, and leaves no sandbox',
    async () => {
      await box.push(needs('forgotten', 'endless==1.0\n'));
      await expect.poll(async () => (await buildSandboxes()).length, { timeout: 20_000 }).toBe(1);
      await box.request('/v1/skills/forgotten/1.0.0', { method: 'DELETE' });
      await expect.poll(async () => (await buildSandboxes()).length, { timeout: 20_000 }).toBe(0);
    },
    limit,
  );
});

describe('a run', () => {
  it(
    'that nobody waits for waits for its dependencies, and can be cancelled meanwhile',
    async () => {
      await box.push(needs('async-run', 'slow==1.0\n', 'import slow\nvalue = slow.value'));
      const start = async () => (await box.json<Execution>('/v1/executions', { body: { skill: 'async-run', wait: false } })).body;
      const [kept, cancelled] = [await start(), await start()];
      expect([kept.status, cancelled.status]).toEqual(['queued', 'queued']);
      const end = await box.json<Execution>(`/v1/executions/${cancelled.execution_id}/cancel`, { method: 'POST' });
      expect(end.body).toMatchObject({ status: 'cancelled' });
      await builtDependencies(box, 'async-run');
      await expect
        .poll(async () => (await box.json<Execution>(`/v1/executions/${kept.execution_id}`)).body, { timeout: 20_000 })
        .toMatchObject({ status: 'success', output: 1 });
    },
    limit,
  );

  it(
    'has no network, and can neither change its dependencies nor see those of others',
    async () => {
      const code = `
import plain, socket, subprocess
def attempt(action):
    try: action(); return "ok"
    except OSError as error: return type(error).__name__ + " " + str(error.errno)
value = {
  "write": attempt(lambda: open(plain.__file__, "a")),
  "add": attempt(lambda: open("/sandbox/deps/new.py", "w")),
  "remove": attempt(lambda: os.remove(plain.__file__)),
  "move": attempt(lambda: os.rename("/sandbox/deps", "/sandbox/other")),
  "network": attempt(lambda: socket.create_connection(("127.0.0.1", ${index.elsewhere.port}), 2)),
  "proxy": [name for name in os.environ if "proxy" in name.lower()],
  "path": sys.path[1],
  "sandbox": sorted(os.listdir("/sandbox")),
}`;
      await box.push(needs('held', 'plain==1.0\n', code));
      expect((await box.run('held')).output).toEqual({
        write: expect.stringMatching(/^(OSError 30|PermissionError 13)$/),
        add: 'OSError 30',
        remove: 'OSError 30',
        move: 'OSError 16',
        network: 'ConnectionRefusedError 111',
        proxy: [],
        path: '/sandbox/deps',
        sandbox: ['deps', 'input', 'input.json', 'out', 'scripts'],
      });
      const refused = await box.json('/v1/executions', { body: { skill: 'held', env: { PYTHONPATH: '/tmp' } } });
      expect(refused).toMatchObject({ status: 422, body: { error: 'invalid_env' } });

      const key = await box.newKey('onlooker');
      await box.push(skillFiles('onlooker', 'python', { 'main.py': pythonAnswer('value = sorted(os.listdir("/sandbox"))') }), key);
      expect((await box.run('onlooker', {}, key)).output).toEqual(['input', 'input.json', 'out', 'scripts']);
    },
    limit,
  );
});

describe('with little time or room', () => {
  it(
    'a build ends when its time is over, and a caller who waits is told before',
    async () => {
      const small = await startTestBox({ ...index.env, SKILLBOX_BUILD_TIMEOUT: '8s', SKILLBOX_QUEUE_TIMEOUT: '1s' });
      try {
        await small.push(needs('late', 'endless==1.0\n'));
        expect(await small.run('late')).toMatchObject({
          status: 'failed',
          error: { code: 'dependencies_building', message: expect.stringContaining('still being installed') },
        });
        expect(await builtDependencies(small, 'late')).toMatchObject({ state: 'failed', error: 'It took longer than 8s.' });
        expect(await logOf('late', small)).toContain('[skillbox] It took longer than 8s.');
      } finally {
        await small.stop();
      }
    },
    limit,
  );

  it(
    'a build that installs or downloads too much is refused',
    async () => {
      const small = await startTestBox({ ...index.env, SKILLBOX_MAX_DEPENDENCIES_SIZE: '1Mi', SKILLBOX_TENANT_STORAGE: '1000Ki' });
      try {
        const fill = (folder: string, bytes: number) => `open("${folder}/filler-%d" % number, "wb").write(os.urandom(${bytes}))`;
        index.add('large', `import os\nfor number in range(1): ${fill('/home/user/out', 1_300_000)}`);
        index.add('huge', `import os, time\nfor number in range(8): ${fill('/home/user/tmp', 1_000_000)}\ntime.sleep(60)`);
        index.add('packed', `import os\nfor number in range(1): ${fill('/home/user/out', 1_040_000)}`);
        for (const name of ['large', 'huge', 'packed']) await small.push(needs(name, `${name}==1.0\n`));
        expect(await builtDependencies(small, 'large')).toMatchObject({
          state: 'failed',
          error: expect.stringContaining('brings the size above'),
        });
        expect(await builtDependencies(small, 'huge')).toMatchObject({ state: 'failed', error: expect.stringContaining('of disk') });
        // It fits, but not into what is left of the tenant's bytes.
        expect(await builtDependencies(small, 'packed')).toMatchObject({ state: 'failed', error: expect.stringContaining('bytes') });
      } finally {
        await small.stop();
      }
    },
    limit,
  );
});

it(
  'a build that a SIGKILL of the server ends is done by the next one, and what waits for it runs',
  async () => {
    const stateRoot = newStateRoot();
    const env = { ...index.env, SKILLBOX_LEASE_TTL: '2s' };
    const first = await startServerProcess({ stateRoot, env });
    await first.push(needs('survivor', 'slow==1.0\n', 'import slow\nvalue = slow.value'));
    const { body } = await first.json<Execution>('/v1/executions', { body: { skill: 'survivor', wait: false } });
    await expect.poll(() => logOf('survivor', first), { timeout: 20_000 }).toContain('index.test');
    await sleep(1500);
    await first.kill();

    const second = await startServerProcess({ stateRoot, env });
    try {
      expect(await dependenciesOf(second, 'survivor')).toMatchObject({ state: 'building' });
      expect(await builtDependencies(second, 'survivor')).toMatchObject({ state: 'available' });
      expect(await second.ended(body.execution_id, 20_000)).toMatchObject({ status: 'success', output: 1 });
      const list = await second.json<Page<Sandbox>>('/v1/sandboxes?limit=100', { headers: { 'X-Tenant-ID': 'skillbox-builds' } });
      expect(list.body.items.filter(({ state }) => state !== 'destroyed' && state !== 'failed')).toEqual([]);
    } finally {
      await second.stop();
      rmSync(stateRoot, { recursive: true });
    }
  },
  limit,
);

it(
  'the command line follows an installing, shows how it fails and reads its log',
  async () => {
    const folder = `${mkdtempSync('/tmp/skillbox-cli-deps-')}`;
    const env = { SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key, HOME: folder };
    const write = (name: string, packages: string): string => {
      mkdirSync(`${folder}/${name}`);
      for (const [path, text] of Object.entries(needs(name, packages))) writeFileSync(`${folder}/${name}/${path}`, text);
      return `${folder}/${name}`;
    };
    try {
      const good = await main(['skill', 'push', write('cli-good', 'plain==1.0\n')], env);
      expect(good).toMatchObject({ exit: 0, stdout: expect.stringContaining('Dependencies of cli-good 1.0.0 are installed') });
      expect((await main(['skill', 'show', 'cli-good'], env)).stdout).toMatch(/dependencies\s+available/);
      expect((await main(['skill', 'build-log', 'cli-good'], env)).stdout).toContain('Successfully installed plain-1.0');

      const bad = await main(['skill', 'push', write('cli-bad', 'nowhere==1.0\n')], env);
      expect(bad).toMatchObject({
        exit: 1,
        stdout: '',
        stderr: expect.stringContaining('No matching distribution found for nowhere==1.0'),
      });
      expect(bad.stderr).toContain('skillbox skill build-log cli-bad');
      index.add('nowhere', '');
      expect(await main(['skill', 'build', 'cli-bad'], env)).toMatchObject({ exit: 0, stdout: expect.stringContaining('are installed') });
      expect((await main(['skill', 'list'], env)).stdout).toMatch(/cli-bad\s+1\.0\.0\s+python\s+available/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  limit,
);
