import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { besideSleeper, type Inside, openInside, readProc, slowestAnswer } from './inside.ts';

let inside: Inside;
beforeAll(async () => {
  inside = await openInside({ SKILLBOX_DEFAULT_CPU: '0.5' });
});
afterAll(() => inside.stop());

it('gets no more processor time than its share, with any number of processes', async () => {
  const hog = 'for _ in 1 2 3 4; do while :; do :; done & done; wait';
  const { result, slowestMs } = await slowestAnswer(inside.box, inside.run('bash', hog, { timeout: '2s' }));
  expect(result.status).toBe('timeout');
  const share = (result.cpu_ms ?? 0) / (result.duration_ms ?? 1);
  expect(share).toBeGreaterThan(0.1);
  expect(share).toBeLessThan(0.7);
  expect(slowestMs).toBeLessThan(2000);
});

it('has a share that the kernel enforces', async () => {
  const quota = await besideSleeper(
    (code) => inside.run('bash', code),
    ({ pid }) => readQuota(pid),
  );
  expect(quota).toEqual([50_000, 100_000]);
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

it('cannot take priority over others', async () => {
  expect(
    await inside.python(
      'answer([attempt(os.setpriority, os.PRIO_PROCESS, 0, -5), attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)), attempt(os.nice, -1)])',
    ),
  ).toEqual(['EACCES', 'EPERM', 'EPERM']);
});
