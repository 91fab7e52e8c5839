import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  it('sees only its own processes', async () => {
    const { pids, own } = await door.python<{ pids: number[]; own: number }>(
      'answer({"pids": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()), "own": os.getpid()})',
    );
    expect(pids).toEqual([1, own]);
    if (!door.living) expect(own).toBe(2);
    expect(await door.bash('cat /proc/1/comm')).toBe('guest');
  });

  it('changes no setting of the kernel', async () => {
    const files = [
      'sys/kernel/core_pattern',
      'sys/kernel/modprobe',
      'sys/kernel/hostname',
      'sys/vm/overcommit_memory',
      'sys/net/ipv4/ip_forward',
      'sysrq-trigger',
      'self/oom_score_adj',
      'self/uid_map',
      'self/coredump_filter',
      'self/attr/current',
    ];
    const opened = await door.python<string[]>(
      `answer([file for file in ${JSON.stringify(files)} if os.path.exists("/proc/" + file) and attempt(lambda: os.close(os.open("/proc/" + file, os.O_WRONLY))) not in ("EROFS", "EACCES")])`,
    );
    expect(opened).toEqual([]);
    expect(
      await door.bash(
        'for file in core_pattern modprobe; do { echo "|/tmp/x" > /proc/sys/kernel/$file; } 2>/dev/null && echo $file; done; true',
      ),
    ).toBe('');
  });

  it('has a /proc in which nothing opens for writing', async () => {
    // As host root, 763 of these would; that is why the mount is read-only and the uid is not root's.
    const opened = await door.python<string[]>(`
opened = []
for root, names, leaves in os.walk("/proc"):
    names[:] = [name for name in names if not (root == "/proc" and name.isdigit()) and name not in ("fd", "task", "map_files")]
    opened += [path for path in (os.path.join(root, leaf) for leaf in leaves) if not os.path.islink(path) and attempt(lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))) == "ok"]
answer(opened)`);
    expect(opened).toEqual([]);
  });

  it('reads nothing of what tells about the kernel and its hardware', async () => {
    const masked = [
      'cmdline',
      'config.gz',
      'interrupts',
      'iomem',
      'ioports',
      'kallsyms',
      'key-users',
      'keys',
      'kcore',
      'kmsg',
      'modules',
      'sched_debug',
      'slabinfo',
      'timer_list',
      'vmallocinfo',
      'zoneinfo',
      'kpagecount',
      'kpageflags',
    ];
    const present = masked.filter((name) => existsSync(`/proc/${name}`));
    expect(present.length).toBeGreaterThan(5);
    const readable = await door.python<string[]>(
      `answer([name for name in ${JSON.stringify(present)} if attempt(lambda: os.read(os.open("/proc/" + name, os.O_RDONLY | os.O_NONBLOCK), 1)) not in ("EACCES", "EPERM")])`,
    );
    expect(readable).toEqual([]);
    expect(
      await door.python(
        'answer([name for name in ("acpi", "asound", "scsi") if os.path.isdir("/proc/" + name) and os.listdir("/proc/" + name)])',
      ),
    ).toEqual([]);
  });

  it('overwrites no program that the host or pid 1 runs', async () => {
    // runc was escaped from by writing to /proc/self/exe (CVE-2019-5736).
    const answers = await door.python<string[]>(`
paths = ["/proc/self/exe", "/proc/1/exe", "/.skillbox/guest", "/usr/bin/bash", "/proc/self/root/usr/bin/python3"]
answer([attempt(lambda: os.close(os.open(path, os.O_WRONLY))) for path in paths] + [attempt(os.unlink, "/.skillbox/guest"), attempt(os.rename, "/.skillbox", "/tmp/x")])`);
    for (const refusal of answers) expect(['EROFS', 'EACCES', 'ETXTBSY', 'EBUSY', 'EXDEV', 'EPERM']).toContain(refusal);
  });

  it('has no /sys and no cgroup file system', async () => {
    expect(
      await door.bash('ls /sys /cgroup 2>/dev/null; grep -cE "sysfs|cgroup|debugfs|tracefs|securityfs" /proc/self/mountinfo || true'),
    ).toBe('0');
  });
});
