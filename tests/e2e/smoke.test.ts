import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeSkill, startTestBox, type TestBox } from '../support/box.ts';

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox();
});
afterAll(() => box.stop());

it('runs a skill in each language', async () => {
  for (const lang of ['python', 'node', 'bash'] as const) {
    const pushed = await box.push(probeSkill(lang));
    expect(pushed).toMatchObject({ status: 201 });
  }
  const python = await box.run('probe-python', {
    input: { code: 'import os\nprint("hi")\nopen(os.environ["SANDBOX_OUTPUT"], "w").write("{\\"a\\":1}")' },
  });
  expect(python).toMatchObject({ status: 'success', output: { a: 1 }, logs: 'hi\n', exit_code: 0, error: null });
  const node = await box.run('probe-node', {
    input: { code: 'console.log("hi"); require("fs").writeFileSync(process.env.SANDBOX_FILES_DIR+"a.txt","x")' },
  });
  expect(node).toMatchObject({ status: 'success', output: null, logs: 'hi\n', files_list: [{ path: 'a.txt', size: 1 }] });
  const bash = await box.run('probe-bash', { env: { PROBE: 'echo hi; exit 4' } });
  expect(bash).toMatchObject({ status: 'failed', exit_code: 4, error: { code: 'exit_nonzero' }, logs: 'hi\n' });
});
