import { beforeAll, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { throughEveryDoor } from './doors.ts';
import { callNumber, runProbe, useInside } from './inside.ts';

const inside = useInside();
let keys: { a: string; b: string };

beforeAll(async () => {
  keys = { a: await inside.box.newKey('tenant-a'), b: await inside.box.newKey('tenant-b') };
  for (const key of Object.values(keys)) await inside.box.push(probeSkill('python'), key);
});

throughEveryDoor(inside, (door) => {
  it('sees nothing of a sandbox that runs beside it', async () => {
    const key = 0x5b0c5;
    // The neighbour leaves marks wherever two sandboxes could meet, and cleans up what would outlive a failure of this test.
    const neighbour = door.neighbour.run(
      'python',
      `
for path in ("/tmp/mark-a", "/dev/shm/mark-a", "${door.home}/mark-a"): open(path, "w").write("a")
server = socket.socket(socket.AF_UNIX); server.bind("\\0mark-a"); server.listen()
listener = socket.socket(); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); listener.bind(("127.0.0.1", 39007)); listener.listen()
segment = libc.shmget(${key}, 4096, 0o1666)
queue = libc.mq_open(b"/mark-a", 0o102, 0o666, None) if hasattr(libc, "mq_open") else -1
time.sleep(1.2)
libc.shmctl(segment, 0, None)
answer(segment >= 0)`,
    );
    await new Promise((resolve) => setTimeout(resolve, 400));
    const { output } = await door.run(
      'python',
      `
answer({
  "files": [attempt(os.stat, folder + "/mark-a") for folder in ("/tmp", "/dev/shm", "${door.home}")],
  "abstract": attempt(socket.socket(socket.AF_UNIX).connect, "\\0mark-a"),
  "port": attempt(socket.socket().connect, ("127.0.0.1", 39007)),
  "shared memory": syscall(${callNumber('shmget')}, ${key}, 4096, 0),
  "queue": syscall(${callNumber('mq_open')}, b"mark-a", 2),
  "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
})`,
    );
    expect(output).toEqual({
      files: ['ENOENT', 'ENOENT', 'ENOENT'],
      abstract: 'ECONNREFUSED',
      port: 'ECONNREFUSED',
      'shared memory': 'ENOENT',
      queue: 'ENOENT',
      processes: 2,
    });
    expect((await neighbour).output).toBe(true);
  });
});

it('answers another tenant as if nothing were there', async () => {
  const run = await runProbe(inside.box, 'python', 'open("/sandbox/out/files/private.txt", "w").write("a")', {}, keys.a);
  await inside.box.push(
    { 'SKILL.md': '---\nname: only-a\nversion: 1.0.0\ndescription: A.\nlang: bash\n---\n', 'main.sh': 'true\n' },
    keys.a,
  );
  const id = run.execution_id;
  const absent = '00000000-0000-4000-8000-000000000000';
  const paths = (execution: string): string[] =>
    ['', '/logs', '/events', '/files', '/files/private.txt', '/files.tar.gz'].map((end) => `/v1/executions/${execution}${end}`);
  for (const [index, path] of paths(id).entries()) {
    const theirs = await inside.box.json(path, { key: keys.b });
    const nobodys = await inside.box.json(paths(absent)[index] as string, { key: keys.b });
    const plain = ({ status, body }: typeof theirs) => ({
      status,
      error: body.error,
      message: String(body.message).replaceAll(/[0-9a-f-]{36}/g, 'ID'),
    });
    expect(plain(theirs), path).toEqual(plain(nobodys));
    expect(theirs.status).toBe(404);
    expect((await inside.box.request(path, { key: keys.a })).status, `${path} for its owner`).toBe(200);
  }
  const cancel = await inside.box.json(`/v1/executions/${id}/cancel`, { key: keys.b, method: 'POST' });
  const started = await inside.box.json('/v1/executions', { key: keys.b, body: { skill: 'only-a' } });
  expect([cancel.status, started.status]).toEqual([404, 404]);
  const listed = await inside.box.json<{ items: { execution_id: string }[] }>('/v1/executions', { key: keys.b });
  expect(listed.body.items.map(({ execution_id }) => execution_id)).not.toContain(id);
});
