/** A run that is served by a sandbox made ready ahead is the same as one that is not: nothing inside can tell. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';

describe.each(['never', 'always'] as const)('with copies of a started interpreter: %s', (copies) => {
  let box: TestBox;
  beforeAll(async () => {
    box = await startTestBox({ SKILLBOX_WARM_COPIES: copies });
  });
  afterAll(() => box.stop());

  const warm = () => box.box.provider.warm;

  /** Runs it cold, then warm, and says how each ended. */
  async function bothWays(name: string, request: Record<string, unknown> = {}) {
    const before = warm();
    const cold = await box.run(name, request);
    expect(warm().missed).toBe(before.missed + 1);
    await expect.poll(() => warm().ready >= warm().wanted, { timeout: 10_000 }).toBe(true);
    const served = await box.run(name, request);
    expect(warm().served).toBe(before.served + 1);
    const isCopy = copies === 'always' && !otherLanguages.has(name);
    expect(warm().copied).toBe(before.copied + Number(isCopy));
    return { cold, served };
  }

  const otherLanguages = new Set<string>();
  const skill = (name: string, lang: string, file: string, text: string, more = '') => {
    if (lang !== 'python') otherLanguages.add(name);
    return box.push({
      'SKILL.md': `---\nname: ${name}\nversion: 1.0.0\ndescription: Shows what it sees.\nlang: ${lang}\n${more}---\n`,
      [file]: text,
    });
  };

  const pythonView = `
import json, os, resource, signal, sys, threading, traceback, random, uuid, logging, time

class Kept:
    def __del__(self):
        print("finalised", flush=True)

def inner():
    raise ValueError("as ever")

try:
    inner()
except ValueError:
    trace = traceback.format_exc()
kept = Kept()
open_file = open(os.environ["SANDBOX_FILES_DIR"] + "unclosed.txt", "w")
open_file.write("flushed at exit")
view = {
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "name": __name__, "file": __file__, "doc": __doc__,
    "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(), "ppid": os.getppid(), "sid": os.getsid(0), "pgid": os.getpgid(0),
    "flags": str(sys.flags), "executable": sys.executable, "modules": sorted(sys.modules), "main": sorted(globals()),
    "loader": str(type(__loader__)), "spec": str(__spec__), "trace": trace, "threads": threading.active_count(),
    "fds": sorted(os.listdir("/proc/self/fd")), "cmdline": open("/proc/self/cmdline").read(),
    "limits": [resource.getrlimit(number) for number in range(16)], "umask": os.umask(0o22),
    "signals": {str(number): str(signal.getsignal(number)) for number in signal.valid_signals()},
    "encoding": [sys.stdout.encoding, sys.getfilesystemencoding(), sys.stdin.read()],
    "importers": sorted(sys.path_importer_cache), "etc": sorted(os.listdir("/etc")), "sandbox": sorted(os.listdir("/sandbox")),
    "tmp": os.listdir("/tmp"), "input": json.load(open("/sandbox/input.json")),
}
json.dump(view, open(os.environ["SANDBOX_OUTPUT"], "w"))
print(logging._startTime > time.time() - 1, flush=True)
`;

  const nodeView = `
const fs = require('node:fs');
const view = {
  argv: process.argv, execArgv: process.execArgv, env: { ...process.env }, cwd: process.cwd(), pid: process.pid, ppid: process.ppid,
  file: __filename, main: require.main === module, cache: Object.keys(require.cache), children: module.children.length,
  parent: String(module.parent), paths: module.paths, sockets: fs.readdirSync('/proc/self/fd').filter((fd) => fs.existsSync('/proc/self/fd/' + fd) && fs.readlinkSync('/proc/self/fd/' + fd).startsWith('socket')), title: process.title,
  cmdline: fs.readFileSync('/proc/self/cmdline', 'utf8'), globals: Object.getOwnPropertyNames(globalThis).sort(),
  listeners: process.eventNames().map(String), umask: process.umask(), input: JSON.parse(fs.readFileSync('/sandbox/input.json', 'utf8')),
  trace: new Error('as ever').stack,
};
fs.writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify(view));
`;

  const bashView = `
{ echo "$0 $# $@"; pwd; env | sort; set -o; shopt; ls /proc/self/fd; ulimit -a; trap; jobs; echo "$$ $PPID $-"; tr '\\0' ' ' < /proc/$$/cmdline; } > /tmp/view
printf '{"view": "%s"}' "$(base64 -w0 /tmp/view)" > "$SANDBOX_OUTPUT"
`;

  describe('what it sees', () => {
    it('Python', async () => {
      await skill('view-python', 'python', 'main.py', pythonView);
      const { cold, served } = await bothWays('view-python', { input: { a: 1 }, env: { GIVEN: 'yes é' }, files: { 'x.txt': 'aGk=' } });
      expect(cold.status, cold.logs).toBe('success');
      expect(served.output).toEqual(cold.output);
      expect((served.output as { env: Record<string, string> }).env).toMatchObject({ GIVEN: 'yes é', SANDBOX_INPUT: '{"a":1}' });
      expect(served.logs).toBe(cold.logs);
      expect(served.logs).toContain('finalised');
      expect(served.logs).toContain('True');
      expect(served.files_list).toEqual(cold.files_list);
      expect(served.files_list).toMatchObject([{ path: 'unclosed.txt', size: 15 }]);
    });

    it('Python lets go at its end what a job has put into modules of the standard library', async () => {
      const text = `
import json, os, sys

class Attached:
    def __init__(self, name):
        self.name = name
    def __del__(self, write=os.write):
        write(1, self.name)

os.attached = Attached(b"os ")
json.decoder.attached = [Attached(b"json ")]
sys.path_hooks.append(Attached(b"sys "))
`;
      await skill('attached', 'python', 'main.py', text);
      const { cold, served } = await bothWays('attached');
      const names = ({ logs }: typeof cold) => logs.split(' ').filter(Boolean).sort();
      expect(names(cold)).toEqual(['json', 'os', 'sys']);
      expect(names(served)).toEqual(names(cold));
    });

    it('Node', async () => {
      await skill('view-node', 'node', 'main.js', nodeView);
      const { cold, served } = await bothWays('view-node', { input: { a: 1 }, env: { GIVEN: 'yes é' } });
      expect(cold.status, cold.logs).toBe('success');
      expect(served.output).toEqual(cold.output);
      expect(served.output).toMatchObject({ env: { GIVEN: 'yes é', SANDBOX_INPUT: '{"a":1}' }, sockets: [] });
    });

    it('Node with ES modules', async () => {
      const text = `import { writeFileSync } from 'node:fs';\nwriteFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ url: import.meta.url, env: { ...process.env }, argv: process.argv }));\n`;
      await skill('view-esm', 'node', 'main.mjs', text, 'entrypoint: main.mjs\n');
      const { cold, served } = await bothWays('view-esm', { input: [1] });
      expect(cold.status, cold.logs).toBe('success');
      expect(served.output).toEqual(cold.output);
    });

    it('Bash', async () => {
      await skill('view-bash', 'bash', 'main.sh', bashView);
      const { cold, served } = await bothWays('view-bash', { env: { GIVEN: 'yes' } });
      expect(cold.status, cold.logs).toBe('success');
      expect(decode(served.output)).toBe(decode(cold.output));
      expect(decode(served.output)).toContain('GIVEN=yes');
    });
  });

  const decode = (output: unknown): string => Buffer.from((output as { view: string }).view, 'base64').toString();

  describe('how it ends', () => {
    const endings: [string, string, string, string][] = [
      ['an exception', 'python', 'main.py', 'def f():\n    raise KeyError("gone")\nf()\n'],
      ['an exit code', 'python', 'main.py', 'import sys\nprint("x")\nsys.exit(7)\n'],
      ['a text as exit', 'python', 'main.py', 'raise SystemExit("no")\n'],
      ['a syntax error', 'python', 'main.py', 'print("a"\n'],
      ['a signal', 'python', 'main.py', 'import os\nos.kill(os.getpid(), 15)\n'],
      ['a thrown error', 'node', 'main.js', 'setTimeout(() => { throw new Error("late"); }, 1);\n'],
      ['an exit code', 'node', 'main.js', 'process.exitCode = 9;\n'],
      ['a syntax error', 'node', 'main.js', 'let a = ;\n'],
      [
        'listeners and late output',
        'node',
        'main.js',
        'process.on("exit", (code) => { console.log("exit", code); process.exitCode = 4; });\nprocess.on("beforeExit", () => console.log("before"));\n',
      ],
      ['a rejection', 'node', 'main.js', 'Promise.reject(new Error("nobody"));\n'],
      ['an exit code', 'bash', 'main.sh', 'echo x; exit 5\n'],
      [
        'a thread that ends everything',
        'python',
        'main.py',
        'import os, threading, time\nthreading.Thread(target=os._exit, args=(6,)).start()\ntime.sleep(9)\n',
      ],
      ['a child that would go on', 'bash', 'main.sh', '(sleep 60; echo never) & echo x; exit 8\n'],
      ['a code beyond a byte', 'python', 'main.py', 'import os\nos._exit(0x1ff)\n'],
    ];
    it.each(endings.map((ending, index) => [...ending, `end-${index}`] as const))('%s of %s', async (_what, lang, file, text, name) => {
      await skill(name, lang, file, text);
      const { cold, served } = await bothWays(name);
      const shape = ({ status, error, exit_code, signal, logs }: typeof cold) => ({ status, error, exit_code, signal, logs });
      expect(shape(served)).toEqual(shape(cold));
      expect(shape(served).status).toBe(name === 'end-4' ? served.status : 'failed');
    });

    it('what it used is told, and what its children used', async () => {
      const burn = 'import time\nwhile time.process_time() < 0.3: pass\nx = b"x" * (40 << 20)\n';
      await skill('user', 'python', 'main.py', burn);
      await skill(
        'user-child',
        'python',
        'main.py',
        `import subprocess, sys\nsubprocess.run([sys.executable, "-c", ${JSON.stringify(burn)}])\n`,
      );
      for (const name of ['user', 'user-child']) {
        const { cold, served } = await bothWays(name);
        for (const record of [cold, served]) {
          expect(record.cpu_ms, name).toBeGreaterThanOrEqual(290);
          expect(record.cpu_ms, name).toBeLessThan(900);
          expect(record.peak_memory_bytes, name).toBeGreaterThan(40 << 20);
        }
      }
    });

    it('its time and its memory count from the job', async () => {
      await skill('slow', 'python', 'main.py', 'import time\ntime.sleep(30)\n');
      const { served: late } = await bothWays('slow', { timeout: '0.5s' });
      expect(late).toMatchObject({ status: 'timeout' });
      expect(late.duration_ms).toBeGreaterThanOrEqual(500);
      await skill('hungry', 'python', 'main.py', 'x = b"x" * (900 << 20)\n');
      const { served: full } = await bothWays('hungry');
      expect(full).toMatchObject({ status: 'failed', error: { code: 'memory_exceeded' } });
    });

    it('what is left to do at the end is done', async () => {
      const text = `
import atexit, json, logging, os, sys, tempfile, weakref

def late():
    try:
        yield 1
    finally:
        os.write(1, b"generator ")

class Thing:
    pass

class Untracked:
    __slots__ = ()
    def __del__(self):
        os.write(1, b"untracked ")

which = json.loads(os.environ["SANDBOX_INPUT"])
if which == "generator":
    kept = late(); next(kept)
elif which == "weakref":
    thing = Thing(); kept = weakref.ref(thing, lambda _: os.write(1, b"callback "))
elif which == "finalize":
    thing = Thing(); weakref.finalize(thing, os.write, 1, b"finalize ")
elif which == "atexit":
    atexit.register(os.write, 1, b"first "); atexit.register(os.write, 1, b"second ")
elif which == "logging":
    logging.basicConfig(filename=os.environ["SANDBOX_FILES_DIR"] + "log.txt"); logging.error("said")
elif which == "untracked":
    kept = Untracked()
elif which == "buffered":
    kept = open(os.environ["SANDBOX_FILES_DIR"] + "kept.txt", "w"); kept.write("kept")
elif which == "folder":
    kept = tempfile.TemporaryDirectory(); os.symlink(kept.name, os.environ["SANDBOX_FILES_DIR"] + "link")
elif which == "exit":
    sys.exit(0)
elif which == "child" and os.fork():
    os.wait(); print("parent")
`;
      await skill('left', 'python', 'main.py', text);
      const shape = ({ status, exit_code, logs, files_list }: Awaited<ReturnType<typeof box.run>>) => ({
        status,
        exit_code,
        logs,
        files_list,
      });
      const cases = [
        'nothing',
        'generator',
        'weakref',
        'finalize',
        'atexit',
        'logging',
        'untracked',
        'buffered',
        'folder',
        'exit',
        'child',
      ];
      const cold = [];
      // A variable that takes the cold path.
      for (const input of cases) cold.push(shape(await box.run('left', { input, env: { PYTHONVERBOSE: '' } })));
      expect(cold.map(({ logs }) => logs.trim())).toEqual([
        ...['', 'generator', '', 'finalize', 'second first', '', 'untracked', ''],
        ...['[skillbox] artifact link skipped: symbolic link', '', 'parent'],
      ]);
      await bothWays('left', { input: 'nothing' });
      for (const [index, input] of cases.entries()) {
        let record = await box.run('left', { input });
        while (!record.warm) record = await box.run('left', { input });
        expect(shape(record), input).toEqual(cold[index]);
      }
    });

    it('what a run draws, counts and measures is its own', async () => {
      const text = `
import ctypes, json, os, random, secrets, tempfile, threading, time, uuid
name = tempfile.mktemp()
seen = {"random": random.random(), "uuid": str(uuid.uuid4()), "uuid1": str(uuid.uuid1()), "token": secrets.token_hex(), "name": name, "bytes": os.urandom(8).hex()}
seen["cpu"] = time.process_time() < 1
seen["thread"] = threading.main_thread() is threading.current_thread() and threading.get_native_id() == os.getpid()
done = []
thread = threading.Thread(target=lambda: done.append(1))
thread.start(); thread.join()
seen["done"] = done == [1] and os.fork is not None and ctypes.CDLL(None).getpid() == os.getpid()
if os.fork() == 0:
    os._exit(3)
seen["child"] = os.WEXITSTATUS(os.wait()[1])
json.dump(seen, open(os.environ["SANDBOX_OUTPUT"], "w"))
`;
      await skill('draws', 'python', 'main.py', text);
      await bothWays('draws');
      const records = [];
      while (records.length < 5) {
        const { served } = warm();
        const record = await box.run('draws');
        if (warm().served > served) records.push(record);
      }
      const outputs = records.map(({ output, status, logs }) => {
        expect(status, logs).toBe('success');
        return output as Record<string, unknown>;
      });
      for (const name of ['random', 'uuid', 'uuid1', 'token', 'name', 'bytes'])
        expect(new Set(outputs.map((output) => output[name])).size, name).toBe(outputs.length);
      for (const output of outputs) expect(output).toMatchObject({ cpu: true, thread: true, done: true, child: 3 });
    });
  });

  describe('what a skill asks to have imported ahead', () => {
    it('is there before the job in a sandbox that stood ready, and a module that is missing is no trouble', async () => {
      const text = `
import json, os, sys
json.dump(["xmlrpc.client" in sys.modules, "absent" in sys.modules], open(os.environ["SANDBOX_OUTPUT"], "w"))
`;
      await skill('ahead', 'python', 'main.py', text, 'preload: [xmlrpc.client, absent_module.x]\n');
      const { cold, served } = await bothWays('ahead');
      expect([cold.output, served.output]).toEqual([
        [false, false],
        [true, false],
      ]);
    });

    it('of Node is found as the skill finds it', async () => {
      otherLanguages.add('ahead-node');
      await box.push({
        'SKILL.md': '---\nname: ahead-node\nversion: 1.0.0\ndescription: Has a module.\nlang: node\npreload: [heavy]\n---\n',
        'main.js':
          'const t = Date.now(); const { made } = require("heavy"); require("fs").writeFileSync(process.env.SANDBOX_OUTPUT, String(made < t - 20))\n',
        'node_modules/heavy/index.js': 'exports.made = Date.now(); for (const end = Date.now() + 30; Date.now() < end; );\n',
      });
      const { cold, served } = await bothWays('ahead-node');
      expect([cold.output, served.output]).toEqual([false, true]);
    });
  });

  describe('when it is not used', () => {
    it('a variable that a started interpreter could not obey takes the cold path', async () => {
      await skill('seeded', 'python', 'main.py', 'import json, os\njson.dump(hash("x"), open(os.environ["SANDBOX_OUTPUT"], "w"))\n');
      await bothWays('seeded');
      const before = warm().served;
      const [one, two] = [
        await box.run('seeded', { env: { PYTHONHASHSEED: '5' } }),
        await box.run('seeded', { env: { PYTHONHASHSEED: '5' } }),
      ];
      expect(one.output).toEqual(two.output);
      expect(warm().served).toBe(before);
    });

    it('a module of the skill’s own hides one of the standard library', async () => {
      await box.push({
        'SKILL.md': '---\nname: hides\nversion: 1.0.0\ndescription: Has its own json.\nlang: python\n---\n',
        'main.py': 'import json, os\nopen(os.environ["SANDBOX_OUTPUT"], "w").write(json.mine)\n',
        'json.py': 'mine = "1"\n',
      });
      const { cold, served } = await bothWays('hides');
      expect([cold.output, served.output]).toEqual([1, 1]);
    });
  });
});
