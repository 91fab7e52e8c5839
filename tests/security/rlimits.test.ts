import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inside, openInside } from './inside.ts';

let inside: Inside;
beforeAll(async () => {
  inside = await openInside({ SKILLBOX_MAX_OPEN_FILES: '256', SKILLBOX_MAX_DISK: '32Mi' });
});
afterAll(() => inside.stop());

it('has limits of its own, soft and hard alike', async () => {
  const limits = await inside.python<Record<string, number[]>>(`
import resource
names = {"core": resource.RLIMIT_CORE, "nofile": resource.RLIMIT_NOFILE, "fsize": resource.RLIMIT_FSIZE, "memlock": resource.RLIMIT_MEMLOCK, "msgqueue": resource.RLIMIT_MSGQUEUE, "sigpending": resource.RLIMIT_SIGPENDING, "rtprio": resource.RLIMIT_RTPRIO, "nice": resource.RLIMIT_NICE}
answer({name: resource.getrlimit(number) for name, number in names.items()})`);
  expect(limits).toEqual({
    core: [0, 0],
    nofile: [256, 256],
    fsize: [32 * 2 ** 20, 32 * 2 ** 20],
    memlock: [65536, 65536],
    msgqueue: [65536, 65536],
    sigpending: [1024, 1024],
    rtprio: [0, 0],
    nice: [0, 0],
  });
});

it('opens no more files than its limit', async () => {
  const { opened, refusal } = await inside.python<{ opened: number; refusal: string }>(`
held, refusal = [], "none"
try:
    while len(held) < 2000: held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error: refusal = errno.errorcode[error.errno]
for fd in held: os.close(fd)
answer({"opened": len(held), "refusal": refusal})`);
  expect({ opened, refusal }).toEqual({ opened: 253, refusal: 'EMFILE' });
});

it('raises no limit', async () => {
  const raised = await inside.python<number[]>(`
import resource
raised = []
for number in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_SIGPENDING):
    soft, hard = resource.getrlimit(number)
    try: resource.setrlimit(number, (hard + 1, hard + 1)); raised.append(number)
    except (ValueError, OSError): pass
answer(raised)`);
  expect(raised).toEqual([]);
});

it('leaves no core dump', async () => {
  const run = await inside.run(
    'bash',
    'cd /sandbox/out/files; sh -c \'kill -SEGV $$\'; echo code $?; find / -xdev -name "core*" -newer /sandbox/input.json -type f 2>/dev/null; ls',
  );
  expect(run).toMatchObject({ status: 'success', files_list: [] });
  expect(run.logs).toContain('code 139');
});
