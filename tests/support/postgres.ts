/** A PostgreSQL server of our own on a loopback port, with its data in a temporary folder; gone when the test file is. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

export interface TestPostgres {
  /** Makes an empty database and returns its connection string. */
  createDatabase(): Promise<string>;
  /** Cuts every connection to the database; optionally only those of LISTENers. */
  cutConnections(dsn: string, only?: 'listeners'): Promise<number>;
  query(dsn: string, text: string): Promise<void>;
  /** Stands still without closing anything, as behind a broken network. */
  freeze(): void;
  thaw(): void;
  /** Shuts the server down; the data and the port stay. */
  halt(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Folder of the server's programs, undefined where PostgreSQL is not installed. */
export function postgresFolder(): string | undefined {
  const versions = '/usr/lib/postgresql';
  const packaged = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...packaged.map((version) => join(versions, version, 'bin')), '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
  if (!found) console.warn('SKIPPED: PostgreSQL is not installed, so nothing is tested against it. Install postgresql to run these tests.');
  return found;
}

/** `settings` for the server, over those that make tests quick. */
export async function startPostgres(programs: string, settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-postgres-'));
  const user = serverUser();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  await promisify(execFile)(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--no-locale', '--auth=trust', '--no-sync', '--no-instructions', '--wal-segsize=1'],
    { ...user, env, cwd: folder },
  );
  const port = await freePort();
  const output: string[] = [];
  const launch = (): ChildProcess => {
    const started = spawnServer(programs, data, { port: String(port), ...settings }, { ...user, env, cwd: folder });
    started.stderr?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
    return started;
  };
  let server = launch();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const exited = server.exitCode === null ? once(server, 'exit') : undefined;
    server.kill(signal);
    await exited;
  };

  const kill = () => {
    server.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  };
  // Also when a test file ends without its afterAll.
  process.once('exit', kill);
  const dsnOf = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await untilReady(dsnOf('postgres'), server, output);

  return {
    async createDatabase() {
      const name = `test_${randomBytes(6).toString('hex')}`;
      await withClient(dsnOf('postgres'), (client) => client.query(`create database ${name}`));
      return dsnOf(name);
    },
    async cutConnections(dsn, only) {
      const name = new URL(dsn).pathname.slice(1);
      const query = only ? `and query ilike 'listen %'` : '';
      const { rowCount } = await withClient(dsnOf('postgres'), (client) =>
        client.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 ${query}`, [name]),
      );
      return rowCount ?? 0;
    },
    async query(dsn, text) {
      await withClient(dsn, (client) => client.query(text));
    },
    freeze: () => signalTree(server, 'SIGSTOP'),
    thaw: () => signalTree(server, 'SIGCONT'),
    // Fast: it ends what its clients are doing and tells them so.
    halt: () => end('SIGINT'),
    async restart() {
      server = launch();
      await untilReady(dsnOf('postgres'), server, output);
    },
    async stop() {
      process.off('exit', kill);
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type SpawnUser = { readonly uid?: number; readonly gid?: number };

/** The server refuses to run as root. */
function serverUser(): SpawnUser {
  if (process.getuid?.() !== 0) return {};
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  const account = accounts.find((line) => line.startsWith('postgres:')) ?? accounts.find((line) => line.startsWith('nobody:'));
  const [, , uid, gid] = account?.split(':') ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

function spawnServer(
  programs: string,
  data: string,
  given: Readonly<Record<string, string>>,
  options: SpawnUser & { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): ChildProcess {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '200',
    shared_buffers: '32MB',
    ...given,
  };
  const command = [
    join(programs, 'postgres'),
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  // Where there is setpriv, the server also ends when this process is killed.
  const guarded = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'QUIT', '--', ...command] : command;
  const [program = '', ...args] = guarded;
  return spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
}

async function untilReady(dsn: string, server: ChildProcess, output: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended at once:\n${output.join('')}`);
    try {
      await withClient(dsn, (client) => client.query('select 1'));
      return;
    } catch {
      // Not listening yet; the loop has an end.
      await delay(50);
    }
  }
  throw new Error(`PostgreSQL did not answer in 20 seconds:\n${output.join('')}`);
}

async function withClient<T>(dsn: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(dsn);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** The server and its children, which each serve one connection. */
function signalTree(server: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = server;
  if (!pid) return;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  for (const process_ of [pid, ...children]) process.kill(process_, signal);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
