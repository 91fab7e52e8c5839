import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { throughEveryDoor, throughLivingDoors } from './doors.ts';
import { bashRequest, eventually, type HostProcess, hostProcesses, readProc, useInside } from './inside.ts';

let marks = 0;
const inside = useInside();

const newMark = (): string => {
  marks += 1;
  return `43.${process.pid}${marks}`;
};
const left = (mark: string): Promise<HostProcess[]> =>
  eventually(
    () => hostProcesses(mark),
    (list) => list.length === 0,
  );

it('answers at the end of the program, not of its children, and leaves none of them', async () => {
  const mark = newMark();
  const run = await inside.run(
    'bash',
    `setsid nohup sleep ${mark} & disown; (setsid sleep ${mark} & ) ; (trap "" TERM HUP INT; sleep ${mark}) & echo done`,
  );
  expect(run).toMatchObject({ status: 'success', logs: 'done\n' });
  expect(run.duration_ms).toBeLessThan(5000);
  expect(await left(mark)).toEqual([]);
});

it('ends children that hold the output open', async () => {
  const mark = newMark();
  const run = await inside.run(
    'python',
    `import subprocess\nsubprocess.Popen(["sleep", "${mark}"], start_new_session=True)\nprint("done")`,
  );
  expect(run).toMatchObject({ status: 'success', logs: 'done\n' });
  expect(await left(mark)).toEqual([]);
});

throughEveryDoor(inside, (door) => {
  it('collects zombies of parents that do not', async () => {
    const code = `
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
for _ in range(50): os.wait()
for _ in range(100):
    zombies = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) > 1 and int(pid) != os.getpid()]
    if not zombies: break
    time.sleep(0.02)
answer(len(zombies))`;
    expect(await door.python(code)).toBe(0);
  });
});

throughLivingDoors(inside, (door) => {
  it('answers at the end of the program also where it leaves children, and a pause ends them all', async () => {
    const mark = newMark();
    const start = performance.now();
    const { end, logs } = await door.run(
      'bash',
      `setsid nohup sleep ${mark} >/dev/null 2>&1 & (setsid sleep ${mark} & ) ; (trap "" TERM HUP INT; setsid sleep ${mark}) & sleep 0.2; echo done`,
    );
    expect({ end, last: logs.trim().split('\n').at(-1) }).toEqual({ end: 'success', last: 'done' });
    expect(performance.now() - start).toBeLessThan(5000);
    expect(hostProcesses(mark).length).toBeGreaterThanOrEqual(3);
    expect((await (await inside.living.own()).request('/pause', { method: 'POST' })).status).toBe(200);
    expect(await left(mark)).toEqual([]);
  });

  it('kills what a program started when its time is over', async () => {
    const mark = newMark();
    const code = `trap "" TERM INT HUP; sleep ${mark} & sh -c 'trap "" TERM; sleep ${mark}; true' & sleep ${mark}`;
    expect(await door.run('bash', code, { timeoutMs: 600 })).toMatchObject({ end: 'timeout' });
    expect(await left(mark)).toEqual([]);
  });
});

it.each([
  ['a time limit', 'timeout'],
  ['a cancel', 'cancelled'],
])('kills the whole tree at %s', async (_, status) => {
  const mark = newMark();
  const code = `trap "" TERM INT HUP; setsid sleep ${mark} & sh -c 'trap "" TERM; sleep ${mark}; true' & echo started; sleep ${mark}`;
  const body = { skill: 'probe-bash', env: { PROBE: code }, wait: false, ...(status === 'timeout' && { timeout: '700ms' }) };
  const { body: accepted } = await inside.box.json<{ execution_id: string }>('/v1/executions', { body });
  expect(
    (
      await eventually(
        () => hostProcesses(mark),
        (list) => list.length >= 4,
      )
    ).length,
  ).toBeGreaterThanOrEqual(3);
  const path = `/v1/executions/${accepted.execution_id}`;
  if (status === 'cancelled') await inside.box.json(`${path}/cancel`, { method: 'POST' });
  await (await inside.box.request(`${path}/events`)).text();
  expect((await inside.box.json(path)).body).toMatchObject({ status, logs: 'started\n' });
  expect(await left(mark)).toEqual([]);
});

it('ends at a cancel at any moment of its start', async () => {
  // Bubblewrap killed between its first steps used to leave a child that waited for it, and held the run, for ever.
  const mark = newMark();
  const ends = new Set<string>();
  for (let round = 0; round < 60; round += 1) {
    const controller = new AbortController();
    const run = inside.box.box.provider.runOnce(bashRequest(`sleep ${mark}`, { signal: controller.signal }));
    const start = performance.now();
    while (performance.now() - start < round / 6) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    ends.add((await Promise.race([run, new Promise<never>((_, reject) => setTimeout(() => reject(new Error('it hangs')), 4000))])).end);
  }
  expect(ends).toEqual(new Set(['cancelled']));
  expect(await left(mark)).toEqual([]);
});

it('leaves no process and no cgroup of a run', async () => {
  await inside.bash('sleep 100 & disown; true');
  const strays = (): string[] =>
    readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && readProc(pid, 'status').includes(`PPid:\t${process.pid}\n`) && readProc(pid, 'comm') === 'bwrap\n',
    );
  expect(await eventually(strays, (list) => list.length === 0)).toEqual([]);
});
