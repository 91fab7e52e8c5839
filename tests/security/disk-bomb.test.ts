import { expect, it } from 'vitest';
import { useInside } from './inside.ts';

const disk = 16 * 2 ** 20;
const inside = useInside({ SKILLBOX_MAX_DISK: '16Mi' });

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
