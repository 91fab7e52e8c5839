/** A real server as a child process, so that a test can kill it, stop it and count what it leaves. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { Execution, Scope } from '@skillbox/protocol';
import { build, type Loader, type Plugin } from 'esbuild';
import { packArchive } from '../../packages/box/src/skills/archive.ts';
import type { RequestOptions } from './box.ts';

export interface ServerProcess {
  readonly pid: number;
  readonly url: string;
  readonly key: string;
  readonly stateRoot: string;
  /** Id of the host, the same through restarts on one state root. */
  readonly host: string;
  /** First host uid of the thousand this server gives to its sandboxes; 0 where it runs as an ordinary user. */
  readonly firstUid: number;
  request(path: string, options?: RequestOptions): Promise<Response>;
  json<T = Record<string, unknown>>(path: string, options?: RequestOptions): Promise<{ status: number; body: T; headers: Headers }>;
  push(files: Record<string, string>, key?: string): Promise<{ status: number; body: Record<string, unknown> }>;
  /** The record, whatever its status; throws when the answer is an error. */
  run(skill: string, request?: Record<string, unknown>, key?: string): Promise<Execution>;
  newKey(tenant: string, scopes?: Scope[]): Promise<string>;
  get(id: string): Promise<Execution>;
  /** Polls until it has ended. */
  ended(id: string, withinMs?: number): Promise<Execution>;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
  readonly running: boolean;
  /** What it logged. */
  log(): string;
}

export interface ServerProcessOptions {
  readonly stateRoot?: string;
  readonly env?: Record<string, string>;
  /** Put before the command, such as `unshare --mount`; it must exec what follows. */
  readonly wrapper?: readonly string[];
}

export const newStateRoot = (): string => mkdtempSync(join(tmpdir(), 'skillbox-process-'));

const repository = resolve(import.meta.dirname, '../..');
const started = new Set<ChildProcess>();
let bundle: Promise<string> | undefined;

/** Rejects with the server's log when it ends before it listens. */
export async function startServerProcess({
  stateRoot = newStateRoot(),
  env = {},
  wrapper = [],
}: ServerProcessOptions = {}): Promise<ServerProcess> {
  bundle ??= bundleServer();
  // Where there is setpriv, the server also ends when this process is killed.
  const guard = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const [program = '', ...args] = [...guard, ...wrapper, process.execPath, '--expose-gc', await bundle];
  const child = spawn(program, args, {
    cwd: stateRoot,
    env: {
      PATH: process.env.PATH,
      SKILLBOX_API_PORT: '0',
      SKILLBOX_LOG_LEVEL: 'warn',
      SKILLBOX_TENANT_RATE: '100000',
      // What stands ready would count as left behind; tests of it ask for it.
      SKILLBOX_WARM_MEMORY: '0',
      ...env,
      SKILLBOX_STATE_ROOT: stateRoot,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.add(child);
  const gone = once(child, 'close').finally(() => started.delete(child));
  const said: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const url = await Promise.race([firstLine(child), gone.then(() => Promise.reject(new Error(`the server ended:\n${said.join('')}`)))]);
  const key = readFileSync(join(stateRoot, 'admin.key'), 'utf8').trim();
  const host = readFileSync(join(stateRoot, 'host.id'), 'utf8').trim();
  const pid = child.pid ?? 0;
  const client = createClient(url, key);

  return {
    ...{ pid, url, key, stateRoot, host, ...client },
    firstUid: firstUidOf(pid),
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
    async stop() {
      child.kill('SIGTERM');
      await gone;
      return child.exitCode;
    },
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    log: () => said.join(''),
  };
}

type Client = Pick<ServerProcess, 'request' | 'json' | 'push' | 'run' | 'newKey' | 'get' | 'ended'>;

function createClient(url: string, key: string): Client {
  const request: Client['request'] = (path, { method, key: given = key, headers = {}, body, signal } = {}) => {
    const raw = body instanceof Uint8Array || typeof body === 'string';
    return fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(given && { Authorization: `Bearer ${given}` }),
        ...(body !== undefined && !raw && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  };
  const json: Client['json'] = async <T>(path: string, options?: RequestOptions) => {
    const response = await request(path, options);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : null) as T };
  };
  const get: Client['get'] = async (id) => {
    const { status, body } = await json<Execution>(`/v1/executions/${id}`);
    if (status !== 200) throw new Error(`execution ${id} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  return {
    ...{ request, json, get },
    async push(files, pushKey) {
      const list = Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, data: Buffer.from(text) }));
      const headers = { 'Content-Type': 'application/zip' };
      return json('/v1/skills', { body: new Uint8Array(await packArchive(list)), headers, ...(pushKey && { key: pushKey }) });
    },
    async run(skill, more = {}, runKey) {
      const { status, body } = await json<Execution>('/v1/executions', { body: { skill, ...more }, ...(runKey && { key: runKey }) });
      if (status >= 300) throw new Error(`run answered ${status}: ${JSON.stringify(body)}`);
      return body;
    },
    async newKey(tenant, scopes = ['skills:read', 'skills:write', 'executions:read', 'executions:run']) {
      const { body } = await json<{ key: string }>('/v1/keys', { body: { name: `test ${tenant}`, tenant, scopes } });
      return body.key;
    },
    async ended(id, withinMs = 15_000) {
      const deadline = Date.now() + withinMs;
      for (;;) {
        const record = await get(id);
        if (record.finished_at) return record;
        if (Date.now() > deadline) throw new Error(`execution ${id} is still ${record.status} after ${withinMs} ms`);
        await new Promise((wake) => setTimeout(wake, 50));
      }
    },
  };
}

/** The same program the CLI starts, without the CLI around it. SIGUSR2 collects garbage, for those who measure memory. */
const entry = `
import { startServer } from './packages/box/src/server/serve.ts';
import { loadConfig } from './packages/box/src/config.ts';
process.on('SIGUSR2', () => globalThis.gc?.());
try {
  const server = await startServer(loadConfig());
  process.on('SIGTERM', () => void server.stop().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); }));
  console.log(server.url);
} catch (error) {
  console.error(error);
  process.exit(1);
}
`;

async function bundleServer(): Promise<string> {
  const cache = join(repository, 'node_modules/.cache/server-process');
  const outfile = join(cache, `${process.pid}.mjs`);
  mkdirSync(cache, { recursive: true });
  process.once('exit', () => {
    for (const child of started) child.kill('SIGKILL');
    rmSync(outfile, { force: true });
  });
  // Each module keeps its own address, so that what lies beside the source is found from the bundle too. Spelt in parts, since
  // scripts/run-ts.mjs does the same to this file.
  const word = ['import', 'meta', 'url'].join('.');
  const addresses: Plugin = {
    name: 'addresses',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replaceAll(word, JSON.stringify(pathToFileURL(path).href)),
        loader: 'ts' as Loader,
      }));
    },
  };
  await build({
    stdin: { contents: entry, resolveDir: repository, loader: 'ts' },
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', sourcemap: 'inline' },
    alias: { '@skillbox/protocol': join(repository, 'packages/protocol/src/index.ts') },
    plugins: [addresses],
    logLevel: 'error',
  });
  return outfile;
}

/** Its address is all it ever says there. */
async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(child.stdout as Readable, 'data')) as [Buffer];
  return line.toString().trim();
}

/** A server claims its uids with an abstract socket, which /proc shows, filled up with @ by older Node. */
function firstUidOf(pid: number): number {
  const sockets = new Set<string>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode) sockets.add(inode);
    } catch {
      // Closed between the listing and the look.
    }
  }
  for (const line of readFileSync('/proc/net/unix', 'utf8').split('\n')) {
    const block = /@skillbox-uids-(\d+)@*$/.exec(line)?.[1];
    if (block !== undefined && sockets.has(line.trim().split(/\s+/)[6] ?? '')) return 1_900_000_000 + Number(block) * 1000;
  }
  return 0;
}
