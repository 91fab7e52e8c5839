import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { eventually, hostProcesses, slowestAnswer, useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  // Both stop far below what would hurt the machine: a test must not need the layer it tests.
  it('gets at most 128 processes', async () => {
    const { children, refusal } = await door.python<{ children: number; refusal: string }>(`
children, refusal = [], "none"
while len(children) < 300:
    try: pid = os.fork()
    except OSError as error:
        refusal = errno.errorcode[error.errno]; break
    if pid == 0:
        signal.pause(); os._exit(0)
    children.append(pid)
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
answer({"children": len(children), "refusal": refusal})`);
    expect({ children, refusal }).toEqual({ children: 127, refusal: 'EAGAIN' });
  });

  it('gets at most 128 threads', async () => {
    const threads = await door.python<number>(`
import threading
started, stop = 0, threading.Event()
try:
    while started < 300:
        threading.Thread(target=stop.wait, daemon=True).start(); started += 1
except RuntimeError: pass
stop.set()
answer(started)`);
    expect(threads).toBe(127);
  });

  it('cannot raise its limit of processes', async () => {
    const { limit, raise } = await door.python<{ limit: number[]; raise: string }>(`
import resource
limit = resource.getrlimit(resource.RLIMIT_NPROC)
def higher(): resource.setrlimit(resource.RLIMIT_NPROC, (limit[0] + 1, limit[1] + 1))
try: higher(); outcome = "ok"
except (ValueError, OSError): outcome = "refused"
answer({"limit": limit, "raise": outcome})`);
    expect({ limit, raise }).toEqual({ limit: [132, 132], raise: 'refused' });
  });

  it('leaves the box answering while a bomb goes off, and nothing after it', async () => {
    const mark = `bomb-${process.pid}-${door.name.replace(' ', '-')}`;
    // The last words name its processes.
    const code = `bash -c 'bomb() { bomb | bomb & }; bomb; sleep 5' ${mark} 2>/dev/null`;
    const bomb = door.run('bash', code, { timeoutMs: 1500 });
    const { result, slowestMs } = await slowestAnswer(inside.box, bomb);
    expect(result.end).toBe('timeout');
    expect(slowestMs).toBeLessThan(2000);
    expect(
      await eventually(
        () => hostProcesses(mark),
        (list) => list.length === 0,
      ),
    ).toEqual([]);
    expect(await door.bash('echo alive')).toBe('alive');
  });
});
