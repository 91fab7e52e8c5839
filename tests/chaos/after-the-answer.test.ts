/**
 * SIGKILL in the very moment an answer has arrived: every success that a caller saw is there afterwards, whole. Several callers at
 * once, so that others are between any two steps of their run when it comes. SKILLBOX_LONG=1 kills thirty times.
 */

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Execution } from '@skillbox/protocol';
import { afterEach, expect, it } from 'vitest';
import { seeded } from '../support/random.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const long = process.env.SKILLBOX_LONG === '1';
const rounds = long ? 30 : 5;
const callers = 4;
const seed = Number(process.env.SKILLBOX_SEED ?? 20_261_116);

const skill = {
  'SKILL.md': '---\nname: marker\nversion: 1.0.0\ndescription: Leaves a mark everywhere it can.\nlang: bash\n---\n\nFor tests.\n',
  'main.sh': [
    'echo "said $MARK"',
    'echo "{\\"mark\\": \\"$MARK\\"}" > "$SANDBOX_OUTPUT"',
    'echo "kept $MARK" > "$SANDBOX_FILES_DIR/kept.txt"',
    // Too long for the row: a blob of its own.
    'for i in $(seq 400); do echo "$i $MARK and so on, to make the log a long one, which the row does not hold"; done',
    'head -c 300000 /dev/zero | tr "\\0" x > "$SANDBOX_FILES_DIR/large.bin"; echo "$MARK" >> "$SANDBOX_FILES_DIR/large.bin"',
  ].join('\n'),
};

let server: ServerProcess | undefined;
let stateRoot = '';
afterEach(async () => {
  if (server?.running) await server.stop();
  rmSync(stateRoot, { recursive: true, force: true });
});

it(`keeps every success that was seen, through ${rounds} kills`, { timeout: long ? 600_000 : 150_000 }, async () => {
  console.log('seed', seed);
  const random = seeded(seed);
  stateRoot = newStateRoot();
  // With sandboxes that stand ready: then most runs are at their last steps.
  const start = () => startServerProcess({ stateRoot, env: { SKILLBOX_WARM_MEMORY: '128Mi' } });
  server = await start();
  expect(await server.push(skill)).toMatchObject({ status: 201 });
  const all: Execution[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const seen = await answersUntilKilled(server, round, 1 + Math.floor(random() * 12));
    server = await start();
    for (const answered of seen) await checkKept(server, answered);
    all.push(...seen);
  }
  // An end stays what it was through all later deaths.
  for (const answered of all) await checkKept(server, answered);
  console.log('successes seen and found again:', all.length, 'of them warm:', all.filter(({ warm }) => warm).length);
  expect(all.length).toBeGreaterThanOrEqual(rounds);
});

/** The records of success that callers had in hand; the server is killed in the turn in which the last of them arrived. */
async function answersUntilKilled(box: ServerProcess, round: number, answers: number): Promise<Execution[]> {
  const seen: Execution[] = [];
  let gone: Promise<void> | undefined;
  const call = async (caller: number): Promise<void> => {
    for (let serial = 0; gone === undefined; serial += 1) {
      const mark = `${round}-${caller}-${serial}`;
      const record = await box.run('marker', { env: { MARK: mark } });
      seen.push(record);
      expect(record).toMatchObject({ status: 'success', output: { mark } });
      if (seen.length === answers) gone = box.kill();
    }
  };
  const calls = await Promise.allSettled(Array.from({ length: callers }, (_, caller) => call(caller)));
  await gone;
  for (const one of calls) {
    // Who was still waiting has lost its server, and that is all that may go wrong.
    if (one.status === 'rejected')
      expect(String(one.reason?.cause ?? one.reason)).toMatch(/SocketError|ECONNRESET|ECONNREFUSED|terminated/);
  }
  return seen;
}

async function checkKept(box: ServerProcess, answered: Execution): Promise<void> {
  const kept = await box.get(answered.execution_id);
  expect({ ...kept, files_url: '' }).toEqual({ ...answered, files_url: '' });
  expect(kept.files_list.map(({ path }) => path)).toEqual(['kept.txt', 'large.bin']);
  for (const { path, sha256, size } of kept.files_list) {
    const file = await box.request(`/v1/executions/${answered.execution_id}/files/${path}`);
    const bytes = Buffer.from(await file.arrayBuffer());
    expect([bytes.length, createHash('sha256').update(bytes).digest('hex')]).toEqual([size, sha256]);
  }
}
