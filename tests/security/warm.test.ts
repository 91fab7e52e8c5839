/** Sandboxes made ready ahead: each serves one run, none can tell or keep anything, and none holds anything of a job before it comes. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { bashRequest, readProc } from './inside.ts';

describe.each(['never', 'always'] as const)('copies of a started interpreter: %s', (copies) => {
  let box: TestBox;
  beforeAll(async () => {
    box = await startTestBox({ SKILLBOX_WARM_COPIES: copies });
    await box.push({ 'SKILL.md': head('py', 'python'), 'main.py': python });
    await box.push({ 'SKILL.md': head('js', 'node'), 'main.js': node });
    await box.push({ 'SKILL.md': head('sh', 'bash'), 'main.sh': 'eval "$CODE"\n' });
  });
  // Stays as long as the box: what stands ready is made from it, again and again.
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-packages-'));
  afterAll(async () => {
    await box.stop();
    rmSync(folder, { recursive: true });
  });

  const head = (name: string, lang: string): string =>
    `---\nname: ${name}\nversion: 1.0.0\ndescription: Runs what it is given.\nlang: ${lang}\n---\n`;
  const python = 'import json, os, subprocess, sys\nexec(os.environ["CODE"])\n';
  const node = 'const fs = require("node:fs");\neval(process.env.CODE);\n';

  const run = async (skill: string, code: string, more: Record<string, string> = {}, key?: string) => {
    const record = await box.run(skill, { env: { CODE: code, ...more }, timeout: '20s' }, key);
    expect(record.status, `${JSON.stringify(record.error)} ${record.logs}`).toBe('success');
    return record.output;
  };
  const state = () => box.box.provider.warm;
  const allReady = () => expect.poll(() => state().ready >= state().wanted, { timeout: 20_000 }).toBe(true);
  /** Runs it once so that sandboxes are made ready for it, and waits until they are. */
  const heat = async (skill: string, code: string): Promise<void> => {
    await run(skill, code);
    await allReady();
  };
  const warmRun = async (...args: Parameters<typeof run>) => {
    await allReady();
    const { served } = state();
    const output = await run(...args);
    expect(state().served).toBe(served + 1);
    return output;
  };

  const namespaces = `
import time
seen = {name: os.readlink("/proc/self/ns/" + name) for name in ("pid", "mnt", "net", "ipc", "uts", "user", "cgroup")}
seen["from"] = time.time(); time.sleep(0.7); seen["to"] = time.time()
json.dump(seen, open(os.environ["SANDBOX_OUTPUT"], "w"))
`;

  it('no two runs share a namespace or a process', async () => {
    await heat('py', 'pass');
    const { served } = state();
    type Seen = Record<string, string> & { from: number; to: number };
    const seen = (await Promise.all(Array.from({ length: 6 }, () => run('py', namespaces)))) as Seen[];
    expect(state().served).toBeGreaterThan(served);
    // The kernel gives the number of a namespace that has ended to the next one: only what is there at one time can be compared.
    const pairs = seen.flatMap((one, index) =>
      seen.slice(index + 1).flatMap((other) => (one.from < other.to && other.from < one.to ? [[one, other] as const] : [])),
    );
    expect(pairs.length).toBeGreaterThan(0);
    for (const name of ['pid', 'mnt', 'net', 'ipc', 'uts', 'user', 'cgroup'])
      expect(
        pairs.filter(([one, other]) => one[name] === other[name]),
        name,
      ).toEqual([]);
  });

  it('a run sees its own processes and descriptors, and no others', async () => {
    const code = `
json.dump({
    "processes": sorted(int(pid) for pid in os.listdir("/proc") if pid.isdigit()),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
}, open(os.environ["SANDBOX_OUTPUT"], "w"))
`;
    await heat('py', 'pass');
    const before = state().copied;
    expect(await warmRun('py', code)).toEqual({ processes: [1, 2], descriptors: ['0', '1', '2', '3'] });
    expect(state().copied).toBe(before + Number(copies === 'always'));
  });

  it('what one run leaves the next does not find', async () => {
    const leave = `
open("/tmp/left", "w").write("x"); open("/dev/shm/left", "w").write("x"); open("/sandbox/left", "w").write("x")
os.environ["LEFT"] = "x"
import ctypes
assert ctypes.CDLL(None).shmget(0x5b, 4096, 0o1666) >= 0
subprocess.Popen(["setsid", "sleep", "297"])
`;
    const look = `
found = [path for path in ("/tmp/left", "/dev/shm/left", "/sandbox/left") if os.path.exists(path)]
found += [name for name in os.environ if name == "LEFT"]
import ctypes
found += ["shared memory"] if ctypes.CDLL(None).shmget(0x5b, 0, 0) >= 0 else []
found += [pid for pid in os.listdir("/proc") if pid.isdigit() and "297" in open("/proc/%s/cmdline" % pid).read()]
json.dump(found, open(os.environ["SANDBOX_OUTPUT"], "w"))
`;
    await heat('py', 'pass');
    for (let round = 0; round < 3; round += 1) {
      await warmRun('py', leave);
      expect(await warmRun('py', look)).toEqual([]);
    }
  });

  it('the line by which its job came is closed before it begins', async () => {
    await heat('py', 'pass');
    const sockets = `
def kind(fd):
    try: return os.readlink("/proc/self/fd/" + fd)
    except OSError: return ""
def attempt(work):
    try: work(); return "ok"
    except OSError as error: return type(error).__name__
json.dump({
    "sockets": [fd for fd in os.listdir("/proc/self/fd") if kind(fd).startswith("socket")],
    "line": attempt(lambda: os.write(3, b"x")),
    "guest": attempt(lambda: os.listdir("/proc/1/fd")),
    "memory": attempt(lambda: open("/proc/1/mem", "rb")),
}, open(os.environ["SANDBOX_OUTPUT"], "w"))
`;
    const closed = { sockets: [], line: 'OSError', guest: 'PermissionError', memory: 'PermissionError' };
    expect(await warmRun('py', sockets)).toEqual(closed);
    await heat('js', '0');
    const line = `const kinds = fs.readdirSync("/proc/self/fd").map((fd) => { try { return fs.readlinkSync("/proc/self/fd/" + fd); } catch { return ""; } });
fs.writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify(kinds.filter((kind) => kind.startsWith("socket"))));`;
    expect(await warmRun('js', line)).toEqual([]);
    await heat('sh', 'true');
    expect(await warmRun('sh', 'ls -l /proc/$$/fd | grep -c socket > $SANDBOX_OUTPUT || true')).toBe(0);
  });

  it('a run finds nothing of the one before it in its memory', async () => {
    // Built from halves, so that the code that looks for it does not hold it.
    const [half, other] = [`half-${process.pid}-`, 'of-a-secret'];
    await heat('py', 'pass');
    for (let round = 0; round < 3; round += 1)
      await warmRun('py', `kept = [os.environ["ONE"] + os.environ["TWO"]] * 1000`, { ONE: half, TWO: other });
    const look = `
found = []
for line in open("/proc/self/maps"):
    area, modes = line.split()[:2]
    start, end = (int(part, 16) for part in area.split("-"))
    if "r" not in modes or "[v" in line: continue
    with open("/proc/self/mem", "rb", 0) as memory:
        memory.seek(start)
        try: text = memory.read(end - start)
        except OSError: continue
    if b"half-" + b"%d" % ${process.pid} + b"-of-" + b"a-secret" in text: found.append(area)
json.dump(found, open(os.environ["SANDBOX_OUTPUT"], "w"))
`;
    expect(await warmRun('py', look)).toEqual([]);
    const own = `secret = "half-" + "${process.pid}" + "-of-" + "a-secret"\n${look}`;
    expect(await warmRun('py', own)).not.toEqual([]);
  });

  it('a run leaves no terminal and no mode of one to the next', async () => {
    await heat('py', 'pass');
    await warmRun(
      'py',
      'for change in (lambda: os.chmod("/dev/pts", 0o700), lambda: os.utime("/dev/pts", (1, 1))):\n    try: change()\n    except OSError: pass',
    );
    const look = 'json.dump([oct(os.stat("/dev/pts").st_mode), os.stat("/dev/pts").st_mtime > 1], open(os.environ["SANDBOX_OUTPUT"], "w"))';
    expect(await warmRun('py', look)).toEqual(['0o40755', true]);
  });

  it('packages of a skill are found in its runs only, whatever their names', async () => {
    writeFileSync(join(folder, 'json.py'), 'import builtins, os\nbuiltins.found_by = os.getpid()\n');
    writeFileSync(
      join(folder, 'main.py'),
      'import builtins, sys\nprint(getattr(builtins, "found_by", None), "/sandbox/deps" in sys.path)\n',
    );
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    const said: string[] = [];
    const env = { PATH: '/usr/bin', PYTHONPATH: '/sandbox/deps' };
    const recipe = { key: `packages-${copies}`, lang: 'python', env, preload: ['json'], modules: [] } as const;
    const attempt = () =>
      box.box.provider.runOnce({
        ...bashRequest(''),
        ...{ argv: ['/usr/bin/python3', '/sandbox/scripts/main.py'], env, skillFolder: folder, warm: recipe },
        dependencies: { folder, at: '/sandbox/deps' },
        onOutput: (_, bytes) => void said.push(bytes.toString()),
      });
    while (!(await attempt()).warm) await new Promise((resolve) => setTimeout(resolve, 20));
    // Without copies the one that imports it is the one that runs; a parent would have been another.
    expect(said.at(-1)).toBe(copies === 'always' ? 'None True\n' : '2 True\n');
  });

  it('what a module starts ahead of the job stands still until there is one', async () => {
    const mark = `beat-${process.pid}-${copies}`;
    const busy = `require('node:child_process').spawn('bash', ['-c', 'while :; do :; done', '${mark}'], { stdio: 'ignore' }).unref();\n`;
    await box.push({
      'SKILL.md': '---\nname: busy\nversion: 1.0.0\ndescription: Never rests.\nlang: node\npreload: [busy]\n---\n',
      'main.js': 'process.exit(0);\n',
      'node_modules/busy/index.js': busy,
    });
    while (!(await box.run('busy')).warm) await new Promise((resolve) => setTimeout(resolve, 20));
    await allReady();
    // Until it is ready, one that is being made runs.
    const states = () =>
      readdirSync('/proc')
        .filter((pid) => /^\d+$/.test(pid) && readProc(pid, 'cmdline').includes(mark))
        .map((pid) => /^State:\s+(\w)/m.exec(readProc(pid, 'status'))?.[1]);
    await expect.poll(() => new Set(states()), { timeout: 10_000 }).toEqual(new Set(['T']));
  });

  it('what stands ready holds nothing of a job that was before it', async () => {
    const secret = `secret-${process.pid}-of-a-job`;
    // The job for which the first is made, and one that such a one serves.
    await box.push({ 'SKILL.md': head('secretive', 'python'), 'main.py': python });
    await run('secretive', 'pass', { TOKEN: secret });
    await warmRun('secretive', 'pass', { TOKEN: secret });
    await allReady();
    const standing = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && /^Uid:\s+19\d{8}/m.test(readProc(pid, 'status')));
    expect(standing.length).toBeGreaterThan(0);
    expect(standing.filter((pid) => readProc(pid, 'environ').includes(secret) || readProc(pid, 'cmdline').includes(secret))).toEqual([]);
  });

  it('nobody is served by what stands ready for another tenant', async () => {
    const key = await box.newKey('neighbour');
    await box.push({ 'SKILL.md': head('py', 'python'), 'main.py': python }, key);
    await heat('py', 'pass');
    const { missed, served } = state();
    await run('py', 'pass', {}, key);
    expect(state()).toMatchObject({ served, missed: missed + 1 });
  });
});
