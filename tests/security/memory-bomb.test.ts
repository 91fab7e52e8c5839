import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { besideSleeper, readProc, slowestAnswer, useInside } from './inside.ts';

const inside = useInside({ SKILLBOX_DEFAULT_MEMORY: '128Mi' }, { memory: '128Mi', tmp: '64Mi' });

// Each stops at a few hundred megabytes: a test must not need the layer it tests.
const bombs = {
  python: 'kept = [b"x" * 2**20 for _ in range(400)]',
  node: 'const kept = []; for (let i = 0; i < 400; i++) kept.push(Buffer.alloc(2 ** 20, 1));',
  bash: 'kept=$(head -c 200000000 /dev/zero | tr "\\0" x)',
};

it.each(['python', 'node', 'bash'] as const)('says that %s took more memory than it has', async (lang) => {
  const run = await inside.run(lang, bombs[lang]);
  expect(run).toMatchObject({ status: 'failed', error: { code: 'memory_exceeded' } });
  expect(run.peak_memory_bytes).toBeLessThanOrEqual(128 * 2 ** 20);
});

throughEveryDoor(inside, (door) => {
  it.each(['python', 'node', 'bash'] as const)('ends %s when it takes more memory than it has', async (lang) => {
    const { result, slowestMs } = await slowestAnswer(inside.box, door.run(lang, bombs[lang]));
    expect(result.end).toBe('failed');
    expect(slowestMs).toBeLessThan(2000);
    expect(await door.bash('echo alive')).toBe('alive');
  });

  it('counts children together', async () => {
    const run = await door.run(
      'python',
      `
for _ in range(4):
    if os.fork() == 0:
        kept = b"x" * (60 * 2**20); time.sleep(1); os._exit(0)
codes = [os.wait()[1] for _ in range(4)]
sys.exit(1 if any(codes) else 0)`,
    );
    expect(run.end).toBe('failed');
  });

  it('counts files in the work area, shared memory and memory files', async () => {
    const code = `
open("/tmp/a", "wb").write(b"x" * (25 * 2**20)); open("/dev/shm/b", "wb").write(b"x" * (25 * 2**20))
os.write(os.memfd_create("c"), b"x" * (25 * 2**20))
kept = b"x" * (70 * 2**20)
answer("kept")`;
    expect(await door.run('python', code)).toMatchObject({ end: 'failed', signal: 'SIGKILL', output: null });
    await door.bash('rm -f /tmp/a /dev/shm/b');
  });

  it('has no swap beyond its memory', async () => {
    const values = await besideSleeper(
      (code) => door.run('bash', code),
      ({ pid }) => memoryLimits(pid),
    );
    expect(values[0]).toBe(128 * 2 ** 20);
    // Version 1 limits memory and swap together, version 2 swap alone; a kernel that does not account for swap has neither file.
    if (values.length > 1) expect([0, 128 * 2 ** 20]).toContain(values[1]);
  });
});

function memoryLimits(pid: number): number[] {
  const groups = readProc(pid, 'cgroup')
    .split('\n')
    .map((line) => line.split(':'));
  const legacy = groups.find(([, names]) => names?.split(',').includes('memory'))?.[2];
  const limits = legacy
    ? ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'].map((file) => `/sys/fs/cgroup/memory${legacy}/${file}`)
    : ['memory.max', 'memory.swap.max'].map((file) => `/sys/fs/cgroup${groups.find(([id]) => id === '0')?.[2]}/${file}`);
  return limits.filter((file) => existsSync(file)).map((file) => Number(readFileSync(file, 'utf8')));
}
