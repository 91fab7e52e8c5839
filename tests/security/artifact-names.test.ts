import { expect, it } from 'vitest';
import { slowestAnswer, useInside } from './inside.ts';

const inside = useInside();

it('skips names that are not text, and keeps odd ones that are', async () => {
  const run = await inside.run(
    'python',
    `
os.chdir("/sandbox/out/files")
for name in [b"line\\nbreak", b"\\xff\\xfe", b"bell\\x07", b"..hidden", b"...", b"a b", b"--help", "\\u00fc\\u4e2d".encode(), b"back\\\\slash", b"q'\\"$(id)", b"\\xff\\xfd"]:
    open(name, "wb").write(b"x")`,
  );
  expect(run.status).toBe('success');
  expect(run.files_list.map(({ path }) => path).sort()).toEqual(
    ['--help', '...', '..hidden', 'a b', 'back\\slash', `q'"$(id)`, 'ü中'].sort(),
  );
  expect(run.logs?.match(/skipped: unreadable name/g)).toHaveLength(4);
  expect(run.logs).not.toContain('\u0007');
  for (const { path } of run.files_list) {
    const response = await inside.box.request(`/v1/executions/${run.execution_id}/files/${encodeURIComponent(path)}`);
    expect({ path, status: response.status, text: await response.text() }).toEqual({ path, status: 200, text: 'x' });
  }
});

it.each(['../admin.key', '..%2f..%2fadmin.key', '%2e%2e/%2e%2e/box.key', '/etc/passwd', '....//admin.key', 'x%00y'])(
  'serves no file by the name %s',
  async (name) => {
    const run = await inside.run('bash', 'echo mine > out/files/mine');
    const response = await inside.box.request(`/v1/executions/${run.execution_id}/files/${name}`);
    expect([400, 404]).toContain(response.status);
    expect(await response.text()).not.toContain(inside.box.key);
  },
);

it('survives a tree deeper than any path', async () => {
  const code = `
os.chdir("/sandbox/out/files")
for depth in range(3000):
    os.mkdir("d" * 100); os.chdir("d" * 100)
open("bottom", "w").write("x")
open("/sandbox/out/files/top", "w").write("x")`;
  const { result, slowestMs } = await slowestAnswer(inside.box, inside.run('python', code));
  expect(result).toMatchObject({ status: 'success', files_list: [{ path: 'top', size: 1 }] });
  expect(result.logs).toContain('skipped: unreadable');
  expect(slowestMs).toBeLessThan(2000);
});

it('sends no more names than it may have files, readable or not', async () => {
  const plans = [
    'os.mkdir(name, 0)',
    'os.symlink("x", name)',
    'os.mkfifo(name)',
    'open(name, "w").close()',
    'os.close(os.open(name, os.O_CREAT, 0))',
  ];
  for (const plan of plans) {
    const run = await inside.run(
      'python',
      `os.chdir("/sandbox/out/files")\nfor index in range(5000):\n    name = "n" * 200 + str(index)\n    ${plan}`,
    );
    expect({ plan, code: run.error?.code, logs: (run.logs ?? '').length < 10_000 }).toEqual({
      plan,
      code: 'too_many_artifacts',
      logs: true,
    });
  }
});
