import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { slowestAnswer, useInside } from './inside.ts';

const inside = useInside();
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-planted-'));
  writeFileSync(join(folder, 'host'), 'of the host', { mode: 0o644 });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
});

const plant: Record<string, (path: string) => string> = {
  'symbolic link': (path) => `ln -s /etc/passwd ${path}`,
  'symbolic link to a file of the host': (path) => `ln -s ${folder}/host ${path}`,
  'symbolic link to its own environment': (path) => `ln -s /proc/self/environ ${path}`,
  'symbolic link to a device that never ends': (path) => `ln -s /dev/zero ${path}`,
  fifo: (path) => `mkfifo ${path}`,
  socket: (path) => `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("${path}")'`,
  unreadable: (path) => `echo '{}' > ${path}; chmod 000 ${path}`,
};

it.each(Object.keys(plant))('does not follow, open or wait for a %s as output.json', async (kind) => {
  const { result, slowestMs } = await slowestAnswer(inside.box, inside.run('bash', plant[kind]?.('/sandbox/out/output.json') ?? ''));
  expect(result).toMatchObject({
    status: 'failed',
    output: null,
    error: { code: 'output_invalid', message: 'output.json is not a plain file.' },
  });
  expect(result.duration_ms).toBeLessThan(5000);
  expect(slowestMs).toBeLessThan(2000);
});

it.each(Object.keys(plant))('leaves a %s behind as an artifact, and says so', async (kind) => {
  const run = await inside.run('bash', `${plant[kind]?.('/sandbox/out/files/planted')}; echo fine > out/files/fine`);
  expect(run).toMatchObject({ status: 'success', files_list: [{ path: 'fine', size: 5 }] });
  expect(run.logs).toContain(`[skillbox] artifact planted skipped: ${kind.replace(/ to .*/, '')}\n`);
});

it('takes nothing when the folders themselves are links', async () => {
  const swaps = [
    'rm -r out; ln -s /etc out',
    'rm -r out/files; ln -s /etc out/files',
    'rm -r out; ln -s /proc/self out',
    'rm -r out; mkfifo out',
    'mkdir -p /tmp/o/files; echo x > /tmp/o/files/x; rm -r out; ln -s /tmp/o out',
    'mv out gone',
    'chmod 000 out',
  ];
  for (const swap of swaps) {
    const run = await inside.run('bash', swap);
    expect({ swap, output: run.output, files: run.files_list }).toEqual({ swap, output: null, files: [] });
  }
});

it('makes no device and no hard link to a file that is not its own', async () => {
  const { logs } = await inside.run(
    'bash',
    'exec 2>&1; cd out/files; mknod null c 1 3; mknod disk b 8 0; ln /etc/passwd hard; ln /usr/bin/bash hard; ln /sandbox/scripts/main.sh hard; ln /proc/self/environ hard; ls | wc -l',
  );
  expect(logs?.match(/Operation not permitted|cross-device/gi)).toHaveLength(6);
  expect(logs?.trim().endsWith('0')).toBe(true);
});

it('takes two names of one file as two files', async () => {
  const run = await inside.run(
    'bash',
    'echo same > out/files/a; ln out/files/a out/files/b; ln out/files/a out/output.json; echo 7 > out/output.json',
  );
  expect(run).toMatchObject({
    status: 'success',
    output: 7,
    files_list: [
      { path: 'a', size: 2 },
      { path: 'b', size: 2 },
    ],
  });
});

it('changes no owner, mode or content on the host through a link', async () => {
  const before = statSync(join(folder, 'host'));
  for (const name of ['output.json', 'files/x'])
    await inside.run('bash', `ln -s ${folder}/host out/${name}; echo changed > out/${name}; chmod 777 out/${name}`);
  const after = statSync(join(folder, 'host'));
  expect([after.uid, after.mode, after.size, after.mtimeMs]).toEqual([before.uid, before.mode, before.size, before.mtimeMs]);
});

it('refuses a hollow file that claims more than it may leave', async () => {
  const run = await inside.run('bash', 'truncate -s 100M out/files/hollow');
  expect(run).toMatchObject({ status: 'failed', error: { code: 'artifact_too_large' }, files_list: [] });
});
