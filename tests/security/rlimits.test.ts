import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside({ SKILLBOX_MAX_OPEN_FILES: '256', SKILLBOX_MAX_DISK: '32Mi' }, { disk: '32Mi' });

throughEveryDoor(inside, (door) => {
  // A compiler or a browser opens more than a skill may.
  const files = door.living ? 16_384 : 256;

  it('has limits of its own, soft and hard alike', async () => {
    const limits = await door.python<Record<string, number[]>>(`
import resource
names = {"core": resource.RLIMIT_CORE, "nofile": resource.RLIMIT_NOFILE, "fsize": resource.RLIMIT_FSIZE, "memlock": resource.RLIMIT_MEMLOCK, "msgqueue": resource.RLIMIT_MSGQUEUE, "sigpending": resource.RLIMIT_SIGPENDING, "rtprio": resource.RLIMIT_RTPRIO, "nice": resource.RLIMIT_NICE}
answer({name: resource.getrlimit(number) for name, number in names.items()})`);
    expect(limits).toEqual({
      core: [0, 0],
      nofile: [files, files],
      fsize: [32 * 2 ** 20, 32 * 2 ** 20],
      memlock: [65536, 65536],
      msgqueue: [65536, 65536],
      sigpending: [1024, 1024],
      rtprio: [0, 0],
      nice: [0, 0],
    });
  });

  it('opens no more files than its limit', async () => {
    const { opened, refusal } = await door.python<{ opened: number; refusal: string }>(`
held, refusal = [], "none"
try:
    while len(held) < 20000: held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error: refusal = errno.errorcode[error.errno]
for fd in held: os.close(fd)
answer({"opened": len(held), "refusal": refusal})`);
    expect({ opened, refusal }).toEqual({ opened: files - 3, refusal: 'EMFILE' });
  });

  it('raises no limit', async () => {
    const raised = await door.python<number[]>(`
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
    const code = `mkdir -p /tmp/dump; cd /tmp/dump; touch before; sh -c 'kill -SEGV $$' 2>/dev/null; echo code $?; find / ${door.folders.join(' ')} -xdev -name "core*" -newer before -type f 2>/dev/null; ls`;
    expect((await door.bash(`exec 2>/dev/null; ${code}`)).split('\n')).toEqual(['code 139', 'before']);
  });
});
