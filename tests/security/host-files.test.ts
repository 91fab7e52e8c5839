import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Door, throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside();
let folder: string;
const repository = join(import.meta.dirname, '../..');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-secret-'));
  writeFileSync(join(folder, 'secret'), 'for nobody inside', { mode: 0o644 });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
});

function secrets(door: Door): string[] {
  const state = ['admin.key', 'box.key', 'db', 'blobs', 'run/server.json'].map((name) => join(inside.box.stateRoot, name));
  const host = [
    '/etc/shadow',
    '/etc/ssh',
    '/etc/ssl/private',
    '/etc/machine-id',
    '/root',
    '/var',
    '/run',
    '/sys',
    '/boot',
    '/srv',
    '/mnt',
    '/opt',
  ];
  // A living sandbox has a home of its own.
  if (!door.living) host.push('/home');
  return [...state, ...host, homedir(), join(folder, 'secret'), repository, join(repository, 'package.json')];
}

throughEveryDoor(inside, (door) => {
  it('sees nothing of homes, state, secrets or the repository', async () => {
    const paths = JSON.stringify(secrets(door));
    const nothing = new Set(['ENOENT']);
    expect(new Set(await door.python<string[]>(`answer([attempt(os.stat, path) for path in ${paths}])`))).toEqual(nothing);
    expect(new Set(await door.node<string[]>(`answer(${paths}.map((path) => attempt(() => fs.lstatSync(path))));`))).toEqual(nothing);
    expect(await door.bash(`for path in ${secrets(door).join(' ')}; do test -e "$path" && echo "$path"; done; true`)).toBe('');
  });

  it('reaches nothing more through the roots of other processes', async () => {
    const answers = await door.python<string[]>(`
found = []
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    for link in ("root", "cwd"):
        for path in ${JSON.stringify(secrets(door))}:
            if attempt(os.stat, "/proc/%s/%s/%s" % (pid, link, path)) == "ok": found.append(path)
answer(found)`);
    expect(answers).toEqual([]);
  });

  it('has a root and an /etc of exactly these names', async () => {
    const { root, etc, homes } = await door.python<{ root: string[]; etc: string[]; homes: string[] }>(
      'answer({"root": sorted(os.listdir("/")), "etc": sorted(os.listdir("/etc")), "homes": os.listdir("/home") if os.path.exists("/home") else []})',
    );
    expect(root.filter((name) => !name.startsWith('lib'))).toEqual([
      '.skillbox',
      'bin',
      'dev',
      'etc',
      ...(door.living ? ['home', 'proc'] : ['proc', 'sandbox']),
      'sbin',
      'tmp',
      'usr',
    ]);
    expect(homes).toEqual(door.living ? ['user'] : []);
    expect(etc.filter((name) => name !== 'ld.so.cache')).toEqual([
      'alternatives',
      'group',
      'host.conf',
      'hostname',
      'hosts',
      'nsswitch.conf',
      'passwd',
      'pki',
      'resolv.conf',
      'skillbox',
      'ssl',
    ]);
  });

  it('sees nothing of what operators put into /usr by hand', async () => {
    const interpreters = (['python', 'node', 'bash'] as const).map((lang) => inside.box.box.provider.interpreter(lang)?.path ?? '');
    const hidden = ['/usr/local', '/usr/src'].filter((folder) => !interpreters.some((path) => path.startsWith(`${folder}/`)));
    expect(hidden).not.toHaveLength(0);
    expect(await door.bash(`for folder in ${hidden.join(' ')}; do test -d $folder && ls -A $folder; done; true`)).toBe('');
  });

  it('reads no file that only root may read', async () => {
    expect(
      await door.bash(
        'find /usr /etc -type f ! -readable 2>/dev/null | while read -r file; do cat "$file" >/dev/null 2>&1 && echo "$file"; done',
      ),
    ).toBe('');
  });
});
