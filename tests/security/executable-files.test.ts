import { expect, it as test } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside();

type Define = (title: string, run: () => Promise<void>) => void;
const define: Define = (title, run) => test(title, run);
/** What is not so at a door is no test there, rather than a skipped one. */
const it = Object.assign(define, { runIf: (holds: boolean): Define => (holds ? define : () => undefined) });

throughEveryDoor(inside, (door) => {
  const { folders } = door;

  it.runIf(door.noexec)('executes no program that it wrote', async () => {
    const fromPython = await door.python<string[]>(`
import shutil, subprocess
def run(folder):
    path = folder + "/program"
    shutil.copy("/usr/bin/true", path); os.chmod(path, 0o755)
    return attempt(subprocess.run, [path])
answer([run(folder) for folder in ${JSON.stringify(folders)}])`);
    expect(fromPython).toEqual(folders.map(() => 'EACCES'));
    const fromBash = await door.bash(
      `for folder in ${folders.join(' ')}; do cp /usr/bin/true $folder/p; chmod +x $folder/p; $folder/p 2>/dev/null; echo $?; /lib64/ld-linux-x86-64.so.2 $folder/p 2>/dev/null && echo loaded; done; true`,
    );
    expect(fromBash.split('\n')).toEqual(folders.map(() => '126'));
  });

  it.runIf(door.noexec)('loads no library that it wrote', async () => {
    expect(
      await door.python(`
import glob, shutil
shutil.copy(glob.glob("/usr/lib/*/libz.so.1")[0], "/tmp/libz.so")
try: ctypes.CDLL("/tmp/libz.so"); answer("loaded")
except OSError as error: answer("failed to map" in str(error) or "not permitted" in str(error))`),
    ).toBe(true);
  });

  it('has work areas without programs, devices and setuid', async () => {
    const options = await door.python<Record<string, string[]>>(
      `answer({fields[4]: fields[5].split(",") for fields in (line.split() for line in open("/proc/self/mountinfo")) if fields[4] in ${JSON.stringify(['/tmp', door.home, '/dev/shm'])}})`,
    );
    for (const [mount, flags] of Object.entries(options))
      expect(flags, mount).toEqual(expect.arrayContaining([...(door.noexec ? ['noexec'] : []), 'nosuid', 'nodev']));
    expect(Object.keys(options)).toHaveLength(3);
  });

  it.runIf(!door.noexec)('gives a program that it wrote no more than it has', async () => {
    const code = folders.map(
      (folder) => `cp /usr/bin/cat ${folder}/program; chmod 6755 ${folder}/program; ${folder}/program /proc/self/status`,
    );
    const seen = await door.bash(code.join('\n'));
    expect(seen.match(/^Uid:\t65534\t65534\t65534\t65534$/gm)).toHaveLength(folders.length);
    expect(seen.match(/^CapEff:\t0{16}$/gm)).toHaveLength(folders.length);
    expect(seen.match(/^NoNewPrivs:\t1$/gm)).toHaveLength(folders.length);
    expect(seen.match(/^Seccomp:\t2$/gm)).toHaveLength(folders.length);
  });
});
