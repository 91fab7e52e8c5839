import { expect, it } from 'vitest';
import { throughLivingDoors } from './doors.ts';
import { useInside } from './inside.ts';

const disk = 16 * 2 ** 20;
const inside = useInside({ SKILLBOX_MAX_DISK: '16Mi' }, { disk: '16Mi', tmp: '16Mi' });

it('writes at most its bytes, wherever it writes', async () => {
  const { written, refusal } = await inside.python<{ written: number; refusal: string }>(`
written, refusal, block = 0, "none", b"x" * 2**16
files = [open(folder + "/bomb", "wb", 0) for folder in ("/tmp", "/sandbox", "/sandbox/out/files", "/dev/shm")]
try:
    while written < 64 * 2**20:
        for file in files: written += file.write(block)
except OSError as error: refusal = errno.errorcode[error.errno]
for folder in ("/tmp", "/sandbox", "/sandbox/out/files", "/dev/shm"): os.unlink(folder + "/bomb")
for file in files: file.close()
answer({"written": written, "refusal": refusal})`);
  expect(refusal).toBe('ENOSPC');
  expect(written).toBeLessThanOrEqual(disk);
  expect(written).toBeGreaterThan(disk / 2);
});

it('makes at most its number of files', async () => {
  const { made, refusal } = await inside.python<{ made: number; refusal: string }>(`
made, refusal = 0, "none"
try:
    while made < 20000:
        os.mkdir("/tmp/%d" % made); os.symlink("x", "/sandbox/%d" % made); made += 2
except OSError as error: refusal = errno.errorcode[error.errno]
for name in os.listdir("/tmp"): os.rmdir("/tmp/" + name)
answer({"made": made, "refusal": refusal})`);
  expect(refusal).toBe('ENOSPC');
  expect(made).toBeLessThanOrEqual(4096);
});

it('makes no file larger than its disk, not even a hollow one', async () => {
  expect(
    await inside.python(
      `answer([attempt(os.truncate, os.open("/tmp/hollow", os.O_CREAT | os.O_WRONLY), 2**40), attempt(os.posix_fallocate, os.open("/tmp/full", os.O_CREAT | os.O_WRONLY), 0, 2**30)])`,
    ),
  ).toEqual(['EFBIG', 'EFBIG']);
});

it.each(['node', 'bash'] as const)('cannot fill the disk of the host from %s', async (lang) => {
  const run =
    lang === 'node'
      ? await inside.run('node', 'const block = Buffer.alloc(2 ** 20); for (let i = 0; i < 64; i++) fs.appendFileSync("/tmp/bomb", block);')
      : await inside.run('bash', 'head -c 60000000 /dev/zero > /tmp/bomb');
  expect(run).toMatchObject({ status: 'failed' });
  // Either limit may be the one that is met first.
  expect(run.logs + JSON.stringify(run.error)).toMatch(/ENOSPC|EFBIG|No space left|File too large|SIGXFSZ/);
});

/** Each would go on to some hundred megabytes: a test must not need the layer it tests. About 50 MB and 3000 files in a second. */
const bombs = {
  'files beside each other': `
for number in range(400):
    open("bomb-%d" % number, "wb").write(b"x" * 2**20); time.sleep(0.02)`,
  'a file that has no name any more': `
held = []
for number in range(400):
    held.append(open("bomb", "wb", 0)); os.unlink("bomb")
    held[-1].write(b"x" * 2**20); time.sleep(0.02)`,
  'a mapping of a file that has no name any more': `
import mmap
held = []
for number in range(400):
    with open("bomb", "w+b") as file:
        file.truncate(2**20); held.append(mmap.mmap(file.fileno(), 2**20))
    os.unlink("bomb"); held[-1].write(b"x" * 2**20); held[-1].flush(); time.sleep(0.02)`,
  'files without content': `
os.makedirs("many", exist_ok=True)
for number in range(60_000):
    os.close(os.open("many/%d" % number, os.O_CREAT))
    if number % 300 == 0: time.sleep(0.1)`,
};

throughLivingDoors(inside, (door) => {
  // The door makes no difference to the disk: the tricks go through one.
  const kinds = Object.keys(bombs).slice(0, door.name === 'exec' ? 4 : 1);

  it.each(kinds)('is ended when it outgrows its disk with %s', { timeout: 60_000 }, async (kind) => {
    const living = await inside.living.own();
    const events = async () =>
      (await living.json<{ items: { type: string; data: { limit_bytes: number } }[] }>('/events?limit=200')).body.items.filter(
        ({ type }) => type === 'sandbox.disk_full',
      );
    const before = (await events()).length;
    const outcome = await door.run('python', `os.chdir("/home/user")\n${bombs[kind as keyof typeof bombs]}\nanswer("all of it")`);
    expect(outcome).toMatchObject({ end: 'failed', signal: 'SIGKILL', output: null });
    await expect.poll(async () => (await events()).length).toBeGreaterThan(before);
    expect((await events())[0]?.data).toMatchObject({ limit_bytes: disk });
    // Who removes is left alone, also while there is still too much; then there is room again.
    const removing = 'rm -rf bomb* many; echo removed';
    expect((await living.json<{ stdout: string }>('/programs', { body: { cmd: removing } })).body.stdout).toBe('removed\n');
    await expect
      .poll(async () => (await living.request('/files?path=fits', { method: 'PUT', body: 'x' })).status, { timeout: 10_000 })
      .toBe(200);
  });

  it('makes no file larger than its disk, whatever it claims', async () => {
    const code = `answer([attempt(os.truncate, os.open("/home/user/hollow", os.O_CREAT | os.O_WRONLY), 2**40), attempt(os.posix_fallocate, os.open("/home/user/full", os.O_CREAT | os.O_WRONLY), 0, 2**30)])`;
    expect(await door.python(code)).toEqual(['EFBIG', 'EFBIG']);
  });
});
