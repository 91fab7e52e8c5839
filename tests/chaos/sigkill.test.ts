/** SIGKILL at any moment: what was accepted has a true end after the restart, and nothing of the old server is left. */

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import Sqlite from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { leftoversSettled, sandboxProcesses, uptime } from '../support/leftovers.ts';
import { seeded } from '../support/random.ts';
import { newStateRoot, type ServerProcess, type ServerProcessOptions, startServerProcess } from '../support/server-process.ts';

/** The faults of faults.test.ts kill under a wider load; here every row is compared with what it was at the moment of death. */
const rounds = Number(process.env.SKILLBOX_CHAOS_ROUNDS ?? 5);
const standby = 2;
const slots = 3;
const settings = { SKILLBOX_MAX_CONCURRENT_EXECS: String(slots), SKILLBOX_TENANT_CONCURRENT_EXECS: String(slots) };

/** Speaks all the time, and leaves a daemon that would outlive it. */
const long = 'setsid sleep 300 & for i in $(seq 300); do echo tick $i; sleep 0.1; done';
const quick = `echo done; echo '{"marker":"'$MARKER'"}' > "$SANDBOX_OUTPUT"; echo artifact > "$SANDBOX_FILES_DIR/a.txt"`;

let server: ServerProcess | undefined;
let stateRoot = '';

async function start(options: ServerProcessOptions = {}): Promise<ServerProcess> {
  server = await startServerProcess({ stateRoot, env: settings, ...options });
  return server;
}

afterEach(async () => {
  if (server?.running) await server.stop();
  rmSync(stateRoot, { recursive: true, force: true });
});

describe('SIGKILL', () => {
  it(`at ${rounds} random moments under load loses nothing and leaves nothing`, { timeout: 120_000 }, async () => {
    stateRoot = newStateRoot();
    const random = seeded(20_261_007);
    const seen: Record<string, number> = {};
    await (await start()).push(probeSkill('bash'));
    const pushed = new Map<string, string>();
    const uploads = { seen: 0 };
    const settled = new Map<string, string>();
    for (let round = 0; round < rounds; round += 1) {
      const box = server as ServerProcess;
      const load = startLoad(box, round, pushed, uploads);
      await delay(50 + random() * 1100);
      const killedAt = uptime();
      await box.kill();
      await load.stopped();

      const before = rowsAtDeath(stateRoot);
      for (const id of load.accepted) expect(before.has(id), `${id} was answered and is not in the database`).toBe(true);
      const next = await start();
      expect(await leftoversSettled({ ...box }, { since: killedAt, standby: standby + slots })).toEqual([]);
      for (const [id, row] of before) {
        if (settled.has(id)) continue;
        const record = await next.ended(id);
        const found = `${row.status}${row.resumable ? '+' : ''} → ${record.status}${record.error ? ` ${record.error.code}` : ''}`;
        seen[found] = (seen[found] ?? 0) + 1;
        expect(found).toEqual(expectedEnd(row));
        if (row.status === 'success') expect(record.output).toEqual(JSON.parse(row.output ?? 'null'));
        settled.set(id, record.status);
      }
      for (const answered of load.succeeded) {
        const record = await next.get(answered.execution_id);
        expect(record).toMatchObject({ status: 'success', output: answered.output, files_list: answered.files_list });
        const file = await next.request(`/v1/executions/${record.execution_id}/files/a.txt`);
        expect(sha256(Buffer.from(await file.arrayBuffer()))).toBe(record.files_list[0]?.sha256);
      }
      expect(await finishedEvents(next), 'one end for each execution').toEqual([...new Set(await finishedEvents(next))]);
      expect(await leftoversSettled({ ...next }, { standby })).toEqual([]);
    }
    const box = server as ServerProcess;
    await checkUploads(box, pushed);
    const after = [...rowsAtDeath(stateRoot)].map(([id, { status }]) => [id, status] as const).filter(([id]) => settled.has(id));
    expect(new Map(after), 'an end stays what it was through all later deaths').toEqual(settled);
    console.log('ends after SIGKILL:', JSON.stringify(seen), 'uploads answered:', uploads.seen);
    // The load must have met every kind of death, or the test shows less than it says.
    for (const kind of ['running → failed interrupted', 'queued+ → success', 'queued → failed interrupted', 'success → success'])
      expect(seen[kind] ?? 0, kind).toBeGreaterThan(0);
    expect(uploads.seen).toBeGreaterThan(rounds);
  });

  it('right after the answer keeps the result, its output and its files', async () => {
    stateRoot = newStateRoot();
    const box = await start();
    await box.push(probeSkill('bash'));
    const answered = await box.run('probe-bash', { env: { PROBE: quick, MARKER: 'seen' } });
    await box.kill();
    expect(answered).toMatchObject({ status: 'success', output: { marker: 'seen' } });
    const next = await start();
    expect(await next.get(answered.execution_id)).toMatchObject({
      ...{ status: 'success', output: { marker: 'seen' }, logs: 'done\n', files_list: answered.files_list },
    });
    expect(await (await next.request(`/v1/executions/${answered.execution_id}/files/a.txt`)).text()).toBe('artifact\n');
  });

  it('keeps what a run had said, and ends all its processes at once', async () => {
    stateRoot = newStateRoot();
    const box = await start();
    await box.push(probeSkill('bash'));
    const { execution_id: id } = await box.run('probe-bash', { env: { PROBE: long }, wait: false });
    await delay(1700);
    expect(sandboxProcesses(box.firstUid).length).toBeGreaterThan(1);
    const killedAt = uptime();
    await box.kill();
    await delay(500);
    expect(sandboxProcesses(box.firstUid, killedAt), 'with no server to sweep them').toEqual([]);
    const next = await start();
    const record = await next.get(id);
    expect(record).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(record.logs).toMatch(/^tick 1\ntick 2\n/);
    expect(record.logs.split('\n').length).toBeGreaterThan(5);
    expect(await leftoversSettled({ ...next }, { standby })).toEqual([]);
  });

  it('and a restart under fire never calls a run of the new server interrupted', { timeout: 60_000 }, async () => {
    stateRoot = newStateRoot();
    const port = String(await freePort());
    const options = { env: { ...settings, SKILLBOX_API_PORT: port } };
    await (await start(options)).push(probeSkill('bash'));
    const answers: string[] = [];
    let firing = true;
    const fire = async (): Promise<void> => {
      while (firing) {
        const target = server as ServerProcess;
        const answer = await target
          .json<Execution>('/v1/executions', { body: { skill: 'probe-bash', env: { PROBE: 'echo hi' } } })
          .catch(() => undefined);
        if (!answer) await delay(5);
        else if (answer.status === 503) expect(answer.headers.get('retry-after')).toBeTruthy();
        else answers.push(answer.status === 200 ? `${answer.body.status} ${answer.body.error?.code ?? ''}`.trim() : String(answer.status));
      }
    };
    const guns = Array.from({ length: 4 }, fire);
    for (let round = 0; round < 4; round += 1) {
      await delay(300);
      await server?.kill();
      await start(options);
    }
    await delay(300);
    firing = false;
    await Promise.all(guns);
    expect(new Set(answers)).toEqual(new Set(['success']));
    expect(answers.length).toBeGreaterThan(20);
  });
});

interface Load {
  /** Ids that a client was told. */
  readonly accepted: Set<string>;
  /** Records of success that a client saw. */
  readonly succeeded: Execution[];
  /** Resolves when every client has noticed that the server is gone. */
  stopped(): Promise<void>;
}

function startLoad(box: ServerProcess, round: number, pushed: Map<string, string>, uploads: { seen: number }): Load {
  const accepted = new Set<string>();
  const succeeded: Execution[] = [];
  const note = (record: Execution): void => {
    accepted.add(record.execution_id);
    if (record.status === 'success') succeeded.push(record);
  };
  const send = async (probe: string, wait: boolean): Promise<void> =>
    note(await box.run('probe-bash', { env: { PROBE: probe, MARKER: `round-${round}` }, wait }));
  const upload = async (worker: number): Promise<void> => {
    for (let serial = 0; ; serial += 1) {
      const name = `upload-${round}-${worker}-${serial}`;
      const content = randomBytes(150_000 + 50_000 * (serial % 5)).toString('base64');
      pushed.set(name, content);
      const { status } = await box.push(uploadedSkill(name, content));
      if (status === 201) uploads.seen += 1;
    }
  };
  const work = async (): Promise<void> => {
    await Promise.all([send(quick, true), send(quick, true)]);
    await Promise.all(Array.from({ length: slots }, () => send(round % 3 === 2 ? `sleep 0.2; ${quick}` : long, false)));
    await Promise.all([...Array.from({ length: 4 }, () => send(quick, false)), send(quick, true), send(quick, true)]);
  };
  // A client that loses its server fails; that is what the round is for.
  const clients = [work(), upload(1), upload(2)].map((client) => client.catch(() => undefined));
  return { accepted, succeeded, stopped: () => Promise.all(clients).then(() => undefined) };
}

/** Whole or absent: what is listed runs, and gives back the very bytes that were pushed. */
async function checkUploads(box: ServerProcess, pushed: ReadonlyMap<string, string>): Promise<void> {
  const names: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { body: { items: { name: string }[]; next_cursor: string | null } } = await box.json(
      `/v1/skills?limit=100${cursor && `&cursor=${cursor}`}`,
    );
    names.push(...page.body.items.map(({ name }) => name).filter((name) => name.startsWith('upload-')));
    cursor = page.body.next_cursor;
  }
  expect(names.length).toBeGreaterThan(rounds);
  const archives = new Sqlite(join(stateRoot, 'db/skillbox.sqlite'), { readonly: true });
  try {
    for (const { archive } of archives.prepare('select archive from skills').all() as { archive: string }[]) {
      const blob = readFileSync(join(stateRoot, 'blobs', archive.slice(0, 2), archive.slice(2, 4), archive));
      expect(sha256(blob)).toBe(archive);
    }
  } finally {
    archives.close();
  }
  // The last of each round were in flight when the server died.
  for (const name of names.filter((_, index) => index % Math.ceil(names.length / 25) === 0 || index > names.length - 5)) {
    const record = await box.run(name);
    expect(record).toMatchObject({ status: 'success', output: sha256(Buffer.from(pushed.get(name) ?? '')) });
  }
}

function uploadedSkill(name: string, content: string): Record<string, string> {
  return {
    'SKILL.md': `---\nname: ${name}\nversion: 1.0.0\ndescription: Says the digest of its data.\nlang: bash\n---\n\nFor tests.\n`,
    'main.sh': `sum=$(sha256sum /sandbox/scripts/data.txt)\necho "\\"\${sum%% *}\\"" > "$SANDBOX_OUTPUT"\n`,
    'data.txt': content,
  };
}

interface RowAtDeath {
  readonly status: string;
  readonly resumable: boolean;
  readonly output: string | null;
}

/** Read from the file itself, before any server can mend it. */
function rowsAtDeath(root: string): Map<string, RowAtDeath> {
  const database = new Sqlite(join(root, 'db/skillbox.sqlite'));
  try {
    const rows = database.prepare('select id, status, request, output from executions').all() as (RowAtDeath & {
      id: string;
      request: string | null;
    })[];
    return new Map(
      rows.map(({ id, status, request, output }) => [id, { status, resumable: status === 'queued' && request !== null, output }]),
    );
  } finally {
    database.close();
  }
}

function expectedEnd({ status, resumable }: RowAtDeath): string {
  if (resumable) return 'queued+ → success';
  if (status === 'queued' || status === 'running') return `${status} → failed interrupted`;
  return expect.stringMatching(new RegExp(`^${status} → ${status}`)) as unknown as string;
}

async function finishedEvents(box: ServerProcess): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/v1/events?type=execution.finished&limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
    const page: { body: { items: { subject: { id: string } }[]; next_cursor: string | null } } = await box.json(path);
    ids.push(...page.body.items.map(({ subject }) => subject.id));
    cursor = page.body.next_cursor;
  }
  return ids;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
