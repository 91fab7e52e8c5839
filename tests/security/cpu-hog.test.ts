import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { besideSleeper, readProc, slowestAnswer, useInside } from './inside.ts';

const inside = useInside({ SKILLBOX_DEFAULT_CPU: '0.5' }, { cpu: 0.5 });

throughEveryDoor(inside, (door) => {
  it('gets no more processor time than its share, with any number of processes', async () => {
    const hog = door.python<number>(`
import resource
start, hogs = time.monotonic(), []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while True: pass
    hogs.append(pid)
time.sleep(1.5)
for pid in hogs: os.kill(pid, 9)
for pid in hogs: os.waitpid(pid, 0)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
answer((used.ru_utime + used.ru_stime) / (time.monotonic() - start))`);
    const { result: share, slowestMs } = await slowestAnswer(inside.box, hog);
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.7);
    expect(slowestMs).toBeLessThan(2000);
  });

  it('has a share that the kernel enforces', async () => {
    const quota = await besideSleeper(
      (code) => door.run('bash', code),
      ({ pid }) => readQuota(pid),
    );
    expect(quota).toEqual([50_000, 100_000]);
  });

  it('cannot take priority over others', async () => {
    expect(
      await door.python(
        'answer([attempt(os.setpriority, os.PRIO_PROCESS, 0, -5), attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)), attempt(os.nice, -1)])',
      ),
    ).toEqual(['EACCES', 'EPERM', 'EPERM']);
  });
});

it('is told what it used', async () => {
  const hog = 'for _ in 1 2 3 4; do while :; do :; done & done; wait';
  const run = await inside.run('bash', hog, { timeout: '1500ms' });
  expect(run.status).toBe('timeout');
  const share = (run.cpu_ms ?? 0) / (run.duration_ms ?? 1);
  expect(share).toBeGreaterThan(0.1);
  expect(share).toBeLessThan(0.7);
});

function readQuota(pid: number): number[] {
  const groups = readProc(pid, 'cgroup')
    .split('\n')
    .map((line) => line.split(':'));
  const legacy = groups.find(([, names]) => names?.split(',').includes('cpu'))?.[2];
  const files = legacy === undefined ? ['cpu.max'] : ['cpu.cfs_quota_us', 'cpu.cfs_period_us'];
  const folder = legacy === undefined ? `/sys/fs/cgroup${groups.find(([id]) => id === '0')?.[2]}` : `/sys/fs/cgroup/cpu${legacy}`;
  return files.flatMap((file) => readFileSync(`${folder}/${file}`, 'utf8').trim().split(' ').map(Number));
}
