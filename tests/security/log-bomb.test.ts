import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inside, openInside, slowestAnswer } from './inside.ts';

let inside: Inside;
const kept = 256 * 1024;
beforeAll(async () => {
  inside = await openInside({ SKILLBOX_MAX_LOG_SIZE: String(kept) });
});
afterAll(() => inside.stop());

it('cuts a gigabyte of output, with a mark, while the box answers', async () => {
  const bytes = 1_000_000_000;
  const { result, slowestMs } = await slowestAnswer(inside.box, inside.run('bash', `yes flood | head -c ${bytes}`));
  expect(result.status).toBe('success');
  expect(result.logs?.length).toBeLessThan(kept + 200);
  expect(result.logs?.slice(kept)).toBe(`[skillbox] log cut at 256Ki: ${bytes - kept} more bytes were dropped\n`);
  expect(slowestMs).toBeLessThan(2000);
  expect(process.memoryUsage().rss).toBeLessThan(600 * 2 ** 20);
});

it('takes binary, NUL and broken text', async () => {
  const run = await inside.run(
    'python',
    'sys.stdout.buffer.write(bytes(range(256)) * 100); sys.stderr.buffer.write(b"\\xf0\\x9f" + b"\\0" * 99)',
  );
  expect(run.status).toBe('success');
  expect(run.logs).not.toContain('\0');
  const { status, body } = await inside.box.json(`/v1/executions/${run.execution_id}`);
  expect({ status, logs: body.logs }).toEqual({ status: 200, logs: run.logs });
});

it('takes a flood of single bytes on both streams', async () => {
  const run = inside.run('python', 'for _ in range(200_000):\n    os.write(1, b"o"); os.write(2, b"e")');
  const { result, slowestMs } = await slowestAnswer(inside.box, run);
  expect(result.status).toBe('success');
  expect(result.logs?.slice(kept)).toMatch(/^\[skillbox\] log cut/);
  expect(slowestMs).toBeLessThan(2000);
});

it('takes a flood from node, and one after the end of the program', async () => {
  const run = await inside.run('node', 'const block = Buffer.alloc(65536, "x"); for (let i = 0; i < 200; i++) fs.writeSync(1, block);');
  expect(run.status).toBe('success');
  expect(run.logs?.slice(kept)).toMatch(/^\[skillbox\] log cut/);
  const left = await inside.run('bash', '(yes & ) ; sleep 0.2');
  expect(left).toMatchObject({ status: 'success' });
});
