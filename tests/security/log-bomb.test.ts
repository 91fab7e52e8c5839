import { get } from 'node:http';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { throughEveryDoor, throughLivingDoors } from './doors.ts';
import { slowestAnswer, useInside } from './inside.ts';

const kept = 256 * 1024;
const inside = useInside({ SKILLBOX_MAX_LOG_SIZE: String(kept) });

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

throughEveryDoor(inside, (door) => {
  it('takes a flood of single bytes on both streams', async () => {
    const run = door.run('python', 'for _ in range(100_000):\n    os.write(1, b"o"); os.write(2, b"e")\nanswer("whole")');
    const { result, slowestMs } = await slowestAnswer(inside.box, run);
    expect(result).toMatchObject({ end: 'success', output: 'whole' });
    expect(slowestMs).toBeLessThan(2000);
  });
});

throughLivingDoors(inside, (door) => {
  it('is read as fast as it is taken, and the box answers meanwhile', async () => {
    // The SDK of E2B unpacks what it reads in this very process, and the box would be blamed for its time.
    const bytes = door.name.startsWith('E2B') ? 6_000_000 : 30_000_000;
    const { result, slowestMs } = await slowestAnswer(inside.box, door.run('bash', `yes flood | head -c ${bytes}`));
    expect(result.end).toBe('success');
    // Whoever waits for the end gets what the limit leaves; a stream has all of it, a terminal with its line ends.
    expect(result.logs.length).toBeGreaterThanOrEqual(door.name === 'exec' ? kept - 1 : bytes);
    if (door.name === 'exec') expect(result.logs.slice(kept - 1)).toBe(`\n[${bytes + 1 - kept} more bytes were left out]\n`);
    expect(slowestMs).toBeLessThan(2000);
  });
});

it('makes the box hold little for readers that do not read', async () => {
  const living = await inside.living.own();
  const before = process.memoryUsage().rss;
  const url = new URL(inside.box.url);
  const headers = { Authorization: `Bearer ${living.key}` };
  const sockets = Array.from({ length: 3 }, () => {
    const socket = new WebSocket(`ws://${url.host}/v1/sandboxes/${living.id}/pty?cmd=yes`, { headers });
    socket.once('message', () => socket.pause());
    return socket;
  });
  const started = await living.json<{ program_id: number }>('/programs', { body: { cmd: 'yes', wait: false } });
  const streams = Array.from({ length: 3 }, () => {
    const request = get(`${inside.box.url}/v1/sandboxes/${living.id}/programs/${started.body.program_id}/events`, { headers });
    request.on('response', (response) => response.pause());
    request.on('error', () => undefined);
    return request;
  });
  const { slowestMs } = await slowestAnswer(inside.box, new Promise((resolve) => setTimeout(resolve, 2000)));
  expect(slowestMs).toBeLessThan(2000);
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20);
  for (const socket of sockets) socket.terminate();
  for (const stream of streams) stream.destroy();
  expect((await living.request('/pause', { method: 'POST' })).status).toBe(200);
});

it('takes a flood from node, and one after the end of the program', async () => {
  const run = await inside.run('node', 'const block = Buffer.alloc(65536, "x"); for (let i = 0; i < 200; i++) fs.writeSync(1, block);');
  expect(run.status).toBe('success');
  expect(run.logs?.slice(kept)).toMatch(/^\[skillbox\] log cut/);
  const left = await inside.run('bash', '(yes & ) ; sleep 0.2');
  expect(left).toMatchObject({ status: 'success' });
});
