import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inside, openInside } from './inside.ts';

let inside: Inside;
beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside.stop());

const folders = ['/tmp', '/sandbox', '/sandbox/out', '/dev/shm'];

it('executes no program that it wrote', async () => {
  const fromPython = await inside.python<string[]>(`
import shutil, subprocess
def run(folder):
    path = folder + "/program"
    shutil.copy("/usr/bin/true", path); os.chmod(path, 0o755)
    return attempt(subprocess.run, [path])
answer([run(folder) for folder in ${JSON.stringify(folders)}])`);
  expect(fromPython).toEqual(folders.map(() => 'EACCES'));
  const fromBash = await inside.bash(
    `for folder in ${folders.join(' ')}; do cp /usr/bin/true $folder/p; chmod +x $folder/p; $folder/p 2>/dev/null; echo $?; /lib64/ld-linux-x86-64.so.2 $folder/p 2>/dev/null && echo loaded; done; true`,
  );
  expect(fromBash.split('\n')).toEqual(folders.map(() => '126'));
});

it('loads no library that it wrote', async () => {
  expect(
    await inside.python(`
import glob, shutil
shutil.copy(glob.glob("/usr/lib/*/libz.so.1")[0], "/tmp/libz.so")
try: ctypes.CDLL("/tmp/libz.so"); answer("loaded")
except OSError as error: answer("failed to map" in str(error) or "not permitted" in str(error))`),
  ).toBe(true);
});

it('has work areas without programs, devices and setuid', async () => {
  const options = await inside.python<Record<string, string[]>>(
    `answer({fields[4]: fields[5].split(",") for fields in (line.split() for line in open("/proc/self/mountinfo")) if fields[4] in ${JSON.stringify(['/tmp', '/sandbox', '/dev/shm'])}})`,
  );
  for (const [mount, flags] of Object.entries(options)) expect(flags, mount).toEqual(expect.arrayContaining(['noexec', 'nosuid', 'nodev']));
  expect(Object.keys(options)).toHaveLength(3);
});
