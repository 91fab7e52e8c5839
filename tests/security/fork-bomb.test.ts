import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, hostProcesses, type Inside, openInside, slowestAnswer } from './inside.ts';

let inside: Inside;
beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside.stop());

// Both stop far below what would hurt the machine: a test must not need the layer it tests.
it('gets at most 128 processes', async () => {
  const { children, refusal } = await inside.python<{ children: number; refusal: string }>(`
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
  const threads = await inside.python<number>(`
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
  const { limit, raise } = await inside.python<{ limit: number[]; raise: string }>(`
import resource
limit = resource.getrlimit(resource.RLIMIT_NPROC)
def higher(): resource.setrlimit(resource.RLIMIT_NPROC, (limit[0] + 1, limit[1] + 1))
try: higher(); outcome = "ok"
except (ValueError, OSError): outcome = "refused"
answer({"limit": limit, "raise": outcome})`);
  expect({ limit, raise }).toEqual({ limit: [132, 132], raise: 'refused' });
});

it('leaves the box answering while a bomb goes off, and nothing after it', async () => {
  const bomb = inside.run('bash', 'bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 5 # bomb-mark', { timeout: '1500ms' });
  const { result, slowestMs } = await slowestAnswer(inside.box, bomb);
  expect(result.status).toBe('timeout');
  expect(slowestMs).toBeLessThan(2000);
  expect(
    await eventually(
      () => hostProcesses('probe-bash').concat(hostProcesses('bomb-mark')),
      (list) => list.length === 0,
    ),
  ).toEqual([]);
  expect(await inside.bash('echo alive')).toBe('alive');
});
