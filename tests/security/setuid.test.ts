import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  it('gains nothing from a setuid or setgid program', async () => {
    // A process that has ended keeps its ids until it is waited for, so they are read without a race.
    const { programs, gained } = await door.python<{ programs: number; gained: string[] }>(`
import glob, stat, subprocess
programs = [path for path in glob.glob("/usr/bin/*") + glob.glob("/usr/sbin/*") + glob.glob("/usr/lib/*/*")
            if os.path.isfile(path) and os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID)]
gained = []
for path in programs:
    try: child = subprocess.Popen([path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except PermissionError: continue
    time.sleep(0.02)
    ids = status(child.pid)
    if set((ids["Uid"] + " " + ids["Gid"]).split()) != {"65534"} or ids["CapEff"].strip("0"): gained.append(path)
    child.kill(); child.wait()
answer({"programs": len(programs), "gained": gained})`);
    expect(programs).toBeGreaterThan(0);
    expect(gained).toEqual([]);
  });

  it('may not gain privileges, and no mount lets it', async () => {
    const { own, first, mounts } = await door.python<{ own: string; first: string; mounts: string[] }>(`
answer({"own": status()["NoNewPrivs"], "first": status(1)["NoNewPrivs"],
        "mounts": [line.split()[4] for line in open("/proc/self/mountinfo") if "nosuid" not in line.split()[5].split(",")]})`);
    expect({ own, first, mounts }).toEqual({ own: '1', first: '1', mounts: [] });
  });

  it('becomes nobody else', async () => {
    const answers = await door.python<string[]>(
      'answer([attempt(os.setuid, 0), attempt(os.setgid, 0), attempt(os.setresuid, 0, 0, 0), attempt(os.setuid, 1000), attempt(os.setgroups, [0]), attempt(os.chown, "/tmp", 0, 0)])',
    );
    expect(answers).not.toContain('ok');
  });
});
