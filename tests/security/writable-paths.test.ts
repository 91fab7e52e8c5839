import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside();

const devices = ['full', 'null', 'random', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name}`);

throughEveryDoor(inside, (door) => {
  it('has only these mounts writable', async () => {
    const writable = await door.python<string[]>(
      'answer(sorted(line.split()[4] for line in open("/proc/self/mountinfo") if "rw" in line.split()[5].split(",")))',
    );
    expect(writable).toEqual(['/dev/pts', '/dev/shm', door.home, '/tmp', ...devices].sort());
  });

  it('writes nowhere but in the work area and to the standard devices', async () => {
    // /usr is one read-only mount, as the test above says; the rest is tried file by file.
    const { files, folders } = await door.python<{ files: string[]; folders: string[] }>(`
files, folders = [], []
for root, names, leaves in os.walk("/"):
    if root == "/": names.remove("usr")
    # Every process has the same files; one of them and pid 1 stand for all.
    names[:] = [name for name in names if not (root == "/proc" and name.isdigit() and name != "1") and name not in ("task", "fd", "map_files")]
    probe = os.path.join(root, ".probe")
    if attempt(os.mkdir, probe) == "ok":
        folders.append(root); os.rmdir(probe)
    for leaf in leaves:
        path = os.path.join(root, leaf)
        if os.path.islink(path): continue
        if attempt(lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))) == "ok": files.append(path)
for leaf in os.listdir("/proc/self"):
    if attempt(lambda: os.close(os.open("/proc/self/" + leaf, os.O_WRONLY))) == "ok": files.append("/proc/self/" + leaf)
answer({"files": sorted(files), "folders": sorted(folders)})`);
    // The attempt itself lies in .attempts; files in its own home are its own.
    const home = door.living ? ['', '/.attempts'] : ['', '/input', '/out', '/out/files'];
    expect(folders).toEqual(['/dev/shm', '/tmp', ...home.map((path) => door.home + path)].sort());
    // Without a terminal /dev/tty does not open; with one it is there by two names.
    const terminal = door.terminal ? ['/dev/pts/0'] : [];
    const opened = devices.filter((path) => door.terminal || path !== '/dev/tty');
    const inputs = door.living ? [] : ['/sandbox/input.json'];
    expect(files.filter((path) => !path.startsWith('/home/user/'))).toEqual([...opened, ...terminal, '/dev/pts/ptmx', ...inputs].sort());
  });

  it.each(['node', 'bash'] as const)('writes nowhere else from %s either', async (lang) => {
    const paths = [
      '/x',
      '/usr/x',
      '/usr/bin/x',
      '/usr/local/x',
      '/etc/passwd',
      '/etc/x',
      '/dev/x',
      '/proc/x',
      '/.skillbox/guest',
      '/sandbox/scripts/x',
      '/home/x',
    ];
    const refused =
      lang === 'node'
        ? await door.node<string[]>(`answer(${JSON.stringify(paths)}.map((path) => attempt(() => fs.writeFileSync(path, "x"))));`)
        : (await door.bash(`for path in ${paths.join(' ')}; do { echo x > $path; } 2>/dev/null && echo ok || echo refused; done`)).split(
            '\n',
          );
    expect(refused).toHaveLength(paths.length);
    expect(refused).not.toContain('ok');
  });

  it('cannot take away a read-only flag', async () => {
    expect(
      await door.bash(
        'for path in / /usr /etc /proc /dev /sandbox/scripts; do mount -o remount,rw $path 2>/dev/null && echo $path; done; true',
      ),
    ).toBe('');
  });
});
