/**
 * The same box as an ordinary user: what such a user cannot have on this host is a missing layer, refused unless accepted by name.
 * As root, the test makes a user of its own and removes it again; as an ordinary user it runs as that one.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const asRoot = process.getuid?.() === 0;
const user = 'skillbox-test';
let folder: string;

beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'packages/box/scripts/build.mjs')]);
  folder = mkdtempSync(join(tmpdir(), 'skillbox-rootless-'));
  if (!asRoot) return;
  if (spawnSync('id', [user]).status !== 0) execFileSync('useradd', ['--no-create-home', '--shell', '/usr/sbin/nologin', user]);
  chownSync(folder, Number(execFileSync('id', ['-u', user])), Number(execFileSync('id', ['-g', user])));
  chmodSync(folder, 0o700);
});

afterAll(() => {
  if (asRoot) execFileSync('userdel', [user]);
  rmSync(folder, { recursive: true, force: true });
});

const manifest = (layers: string[]): void =>
  writeFileSync(join(folder, 'skillbox.yaml'), `version: 1\nsandbox:\n  accept_missing: [${layers.join(', ')}]\n`, { mode: 0o644 });

describe('as an ordinary user', () => {
  it('refuses to run with a layer missing that nobody accepted, and says which', async () => {
    manifest([]);
    await withServer(async (skillbox) => {
      const health = JSON.parse(skillbox('health', '--json').stdout);
      const missing: string[] = health.missing_layers;
      skillbox('skill', 'push', join(root, 'examples/skills/word-counter'));
      const result = skillbox('run', 'word-counter', '--input', '{"text":"a b"}', '--json');
      if (missing.length === 0) return expect(JSON.parse(result.stdout).status).toBe('success');
      expect(JSON.parse(result.stdout)).toMatchObject({ error: 'sandbox_unavailable' });
      for (const layer of missing) expect(result.stdout).toContain(layer);
      expect(result.status).toBe(6);
      const doctor = skillbox('doctor');
      expect(doctor.status).toBe(2);
      expect(doctor.stdout).toContain('systemd-run --user --scope');
    });
  });

  it('runs with the layers it lacks accepted, in a uid of its own where subordinate ids allow', async () => {
    manifest(['cgroup-memory', 'cgroup-pids', 'cgroup-cpu', 'uid']);
    await withServer(async (skillbox) => {
      expect(JSON.parse(skillbox('health', '--json').stdout).status).toBe(
        existsSync('/sys/fs/cgroup/cgroup.controllers') ? expect.any(String) : 'degraded',
      );
      skillbox('skill', 'push', join(root, 'examples/skills/word-counter'));
      const ran = JSON.parse(skillbox('run', 'word-counter', '--input', '{"text":"a b a"}', '--json').stdout);
      expect(ran).toMatchObject({ status: 'success', output: { total_words: 3 } });
      writeProbe();
      expect(skillbox('skill', 'push', join(folder, 'probe')).status).toBe(0);
      const probe = JSON.parse(skillbox('run', 'probe', '--json').stdout);
      // And in one that stood ready: the first run is what the others are made ready for.
      let again = probe;
      for (let count = 0; count < 20 && !again.warm; count += 1) again = JSON.parse(skillbox('run', 'probe', '--json').stdout);
      expect([probe.warm, again.warm]).toEqual([false, true]);
      for (const { logs } of [probe, again]) {
        expect(logs).toContain('uid=65534');
        expect(logs).toMatch(/CapEff:\s+0{16}/);
        expect(logs).toMatch(/Seccomp:\s+2/);
        expect(logs).not.toContain('EXECUTED');
        expect(logs).not.toContain('WROTE');
      }
      if (readFileSync('/etc/subuid', 'utf8').includes(asRoot ? user : (process.env.USER ?? ''))) {
        // From inside the map shows which host uid 65534 stands for: not the server's.
        expect(probe.logs).not.toMatch(
          new RegExp(
            `65534\\s+${execFileSync('id', asRoot ? ['-u', user] : ['-u'])
              .toString()
              .trim()}\\s+1`,
          ),
        );
      }
    });
  });
});

describe('a living sandbox of an ordinary user', () => {
  it('reaches what its list names through the channel, and nothing else', async () => {
    manifest(['cgroup-memory', 'cgroup-pids', 'cgroup-cpu', 'uid']);
    // A process of its own: calls of the CLI stop this one.
    const program =
      "require('http').createServer((_, r) => r.end('hello')).listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
    const target = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
    const port = Number(await new Promise((resolve) => target.stdout.once('data', resolve)));
    const file = join(folder, 'online.yaml');
    writeFileSync(file, `name: online\nnetwork:\n  mode: allow\n  allow: ["127.0.0.1:${port}"]\n`, { mode: 0o644 });
    await withServer(
      async (skillbox) => {
        skillbox('template', 'apply', file);
        const made = JSON.parse(skillbox('sandbox', 'create', 'online', '--json').stdout);
        expect(made).toMatchObject({ state: 'ready', network: 'allow' });
        try {
          const get = (host: string) => `curl -s -o /dev/null -w '%{http_code} ' --noproxy '' http://${host}/`;
          const run = (line: string) => skillbox('sandbox', 'exec', made.id, '--', 'sh', '-c', line).stdout;
          const seen = run(
            `${get(`127.0.0.1:${port}`)}; ${get('elsewhere.test')}; curl -s --noproxy '*' http://127.0.0.1:${port}/ || echo none`,
          );
          expect(seen).toBe('200 403 none\n');
          skillbox('sandbox', 'network', made.id, '--mode', 'none');
          expect(run(get(`127.0.0.1:${port}`))).toBe('403 ');
        } finally {
          skillbox('sandbox', 'destroy', made.id);
        }
      },
      { SKILLBOX_EGRESS_PRIVATE: '127.0.0.0/8' },
    );
    target.kill();
  });
});

describe('the workspace of an ordinary user', () => {
  it('runs with the uid of that user where that is accepted by name, and what is written there stays', { timeout: 120_000 }, async () => {
    const layers = ['cgroup-memory', 'cgroup-pids', 'cgroup-cpu'];
    manifest(layers);
    await withServer(async (skillbox) => {
      const refused = skillbox('shell', '--json', '--', 'true');
      expect(refused.status).not.toBe(0);
      expect(refused.stdout).toMatch(/uid/);
    });
    manifest([...layers, 'uid']);
    for (const number of ['1', '2']) {
      await withServer(async (skillbox) => {
        const line = `echo ${number} >> /workspace/note && mkdir -p ~/.local/bin && cat /workspace/note && grep CapEff /proc/self/status`;
        const { status, stdout, stderr } = skillbox('shell', '--', 'sh', '-c', line);
        expect(stdout, stderr).toMatch(/CapEff:\s+0{16}/);
        expect([status, stdout.split('\n')[0]]).toEqual([0, '1']);
        expect(skillbox('shell', '--', 'sh', '-c', 'echo x > /workspace/logs/runtime/x').status).not.toBe(0);
        const [made] = JSON.parse(skillbox('sandbox', 'list', '--template', 'workspace', '--state', 'ready', '--json').stdout).items;
        skillbox('sandbox', 'destroy', made.id);
      });
    }
    expect(readFileSync(join(folder, '.skillbox-state/workspace/note'), 'utf8')).toBe('1\n2\n');
  });
});

function writeProbe(): void {
  const probe = join(folder, 'probe');
  execFileSync('mkdir', ['-p', probe]);
  writeFileSync(join(probe, 'SKILL.md'), '---\nname: probe\nversion: 1.0.0\ndescription: Looks around.\nlang: bash\n---\n');
  writeFileSync(
    join(probe, 'main.sh'),
    'id\ngrep -E "CapEff|Seccomp:" /proc/self/status\ncat /proc/self/uid_map\ncp /bin/true /tmp/t && /tmp/t && echo EXECUTED\ntouch /usr/x /etc/x /sandbox/scripts/x 2>/dev/null && echo WROTE\ntrue\n',
  );
  execFileSync('chmod', ['-R', 'a+rX', probe]);
}

async function withServer(
  work: (skillbox: (...args: string[]) => { status: number | null; stdout: string; stderr: string }) => Promise<void>,
  more: Record<string, string> = {},
): Promise<void> {
  const skillbox = (...args: string[]) => {
    const [program, rest] = command(args);
    return spawnSync(program, rest, { cwd: folder, env, encoding: 'utf8', timeout: 60_000 });
  };
  const [program, rest] = command(['serve', '--port', '0']);
  const server = spawn(program, rest, { cwd: folder, env: { ...env, ...more }, stdio: 'ignore' });
  try {
    const record = join(folder, '.skillbox-state/run/server.json');
    for (let waited = 0; !existsSync(record) && waited < 15_000; waited += 50) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(existsSync(record)).toBe(true);
    await work(skillbox);
  } finally {
    const gone = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    await gone;
  }
}

const env = { PATH: '/usr/bin:/bin:/usr/local/bin', HOME: '/nonexistent', SKILLBOX_LOG_LEVEL: 'error' };

function command(args: string[]): [string, string[]] {
  const cli = [process.execPath, join(root, 'packages/box/bin/skillbox.js'), ...args];
  if (!asRoot) return [cli[0] as string, cli.slice(1)];
  return ['setpriv', [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--', ...cli]];
}
