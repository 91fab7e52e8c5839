import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { callNumber, useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  it('kills only itself with kill -9 -1', async () => {
    expect(await door.run('bash', 'echo before; kill -9 -1 2>/dev/null; echo after')).toMatchObject({
      end: 'success',
      logs: 'before\nafter\n',
    });
    expect(await door.run('python', 'os.kill(os.getpid(), 9)')).toMatchObject({
      end: 'failed',
      signal: 'SIGKILL',
    });
  });

  it('cannot stop, kill or confuse pid 1', async () => {
    const run = await door.run(
      'python',
      `
for number in [*range(1, 32), *range(34, 65)]:
    os.kill(1, number)
libc.sigqueue(1, 17, 0)
print("still here")`,
    );
    expect(run).toMatchObject({ end: 'success', logs: 'still here\n' });
  });

  it('cannot outlast its time by ignoring or stopping', async () => {
    const codes = ['trap "" TERM INT HUP QUIT; while :; do sleep 1; done', 'kill -STOP $$', 'kill -STOP 1; kill -STOP -1; sleep 60'];
    for (const code of codes) {
      const start = performance.now();
      const { end } = await door.run('bash', code, { timeoutMs: 500 });
      expect({ code, end }).toEqual({ code, end: 'timeout' });
      expect(performance.now() - start).toBeLessThan(4000);
    }
  });

  it('reaches no process of the host', async () => {
    const answers = await door.python<string[]>(
      `answer([attempt(os.kill, ${process.pid}, 0), attempt(os.kill, ${process.ppid}, 0), attempt(os.pidfd_open, ${process.pid})])`,
    );
    expect(answers).toEqual(['ESRCH', 'ESRCH', 'ESRCH']);
  });

  it('sets no clock', async () => {
    const calls = ['clock_settime', 'settimeofday', 'adjtimex', 'clock_adjtime'].map((name) => `syscall(${callNumber(name)}, 0, 0)`);
    expect(await door.python(`answer([${calls.join(', ')}, attempt(time.clock_settime, time.CLOCK_REALTIME, 0)])`)).toEqual(
      Array(5).fill('EPERM'),
    );
  });
});

it('changes no record by a wrong time on its files', async () => {
  const run = await inside.run('bash', 'touch -d 1901-01-01 out/files/old; touch -d 2999-01-01 out/files/new');
  expect(run).toMatchObject({ status: 'success' });
  expect(Math.abs(Date.parse(run.finished_at ?? '') - Date.now())).toBeLessThan(10_000);
});
