/** One connection to a machine, made when it is needed and made again when it was lost. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BoxError } from '@skillbox/protocol';
import { Client, type ClientCallback, type ClientChannel } from 'ssh2';
import type { SshHost } from './hosts.ts';

export interface Connection {
  /** Runs a script with /bin/sh; `$1` and so on are the arguments. Throws sandbox_failed when it exits with anything but 0. */
  run(script: string, args?: readonly string[], input?: Buffer | Readable): Promise<string>;
  /** A stream to a listening socket there; undefined when nobody listens. */
  reach(socketPath: string): Promise<Duplex | undefined>;
  /** The same for a port of an address that the machine reaches. */
  reachPort(address: string, port: number): Promise<Duplex | undefined>;
  close(): void;
}

const connectLimitMs = 10_000;
const keepaliveMs = 15_000;
/** A server lets 10 sessions share a connection unless told otherwise. */
const sessions = 8;
const maxOutput = 16 * 2 ** 20;

export function createConnection(host: SshHost): Connection {
  let current: Promise<Client> | undefined;
  const gate = createGate(sessions);

  const client = (): Promise<Client> => {
    if (current) return current;
    const made = connect(host, () => {
      if (current === made) current = undefined;
    });
    current = made;
    return made;
  };

  return {
    run: (script, args = [], input = Buffer.alloc(0)) =>
      gate(async () => {
        const command = ['/bin/sh', '-c', quote(script), 'sh', ...args.map(quote)].join(' ');
        const { code, stdout, stderr } = await execute(await client(), command, input);
        if (code === 0) return stdout;
        throw new BoxError('sandbox_failed', `The host ${host.name} could not do it: ${stderr.trim().slice(-500) || `exit ${code}`}`);
      }),
    async reach(socketPath) {
      const connected = await client();
      return opened(host, (done) => connected.openssh_forwardOutStreamLocal(socketPath, done));
    },
    async reachPort(address, port) {
      const connected = await client();
      return opened(host, (done) => connected.forwardOut('127.0.0.1', 0, address, port, done));
    },
    close() {
      const closing = current;
      current = undefined;
      closing?.then(
        (connected) => connected.end(),
        // It was never made.
        () => undefined,
      );
    },
  };
}

function connect(host: SshHost, onClose: () => void): Promise<Client> {
  return new Promise((resolve, reject) => {
    const client = new Client();
    let shown = '';
    const fail = (cause: Error): void => {
      onClose();
      reject(shown && shown !== host.fingerprint ? stranger(host, shown) : lost(host, cause));
    };
    client.once('ready', () => resolve(client));
    client.on('error', fail);
    client.once('close', () => fail(new Error('the connection was closed')));
    try {
      client.connect({
        ...{ host: host.address, port: host.port, username: host.user, privateKey: readFileSync(host.keyFile) },
        ...{ readyTimeout: connectLimitMs, keepaliveInterval: keepaliveMs, agentForward: false },
        hostVerifier: (key: Buffer) => {
          shown = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
          return shown === host.fingerprint;
        },
      });
    } catch (cause) {
      fail(cause as Error);
    }
  });
}

/** A refusal by the server means that nobody listens; anything else, that the connection is lost. */
function opened(host: SshHost, open: (done: ClientCallback) => void): Promise<Duplex | undefined> {
  return new Promise((resolve, reject) => {
    open((error, channel) => {
      if (!error) {
        // Errors show in reading and writing; without a listener they would end the server.
        channel.on('error', () => undefined);
        resolve(asSocket(channel));
      } else if ('reason' in error) resolve(undefined);
      else reject(lost(host, error));
    });
  });
}

/** Node's HTTP client calls these on what it speaks through, and a channel does not have them. */
function asSocket(channel: ClientChannel): Duplex {
  const nothing = (): Duplex => channel;
  return Object.assign(channel, { setKeepAlive: nothing, setNoDelay: nothing, setTimeout: nothing, ref: nothing, unref: nothing });
}

function execute(client: Client, command: string, input: Buffer | Readable): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(new BoxError('unavailable', `No session could be opened: ${error.message}`, { cause: error }));
      const stdout = collect(channel, channel);
      const stderr = collect(channel.stderr, channel);
      let code = -1;
      let failure: Error | undefined;
      channel.once('exit', (status: number | null) => {
        code = status ?? -1;
      });
      channel.once('error', reject);
      channel.once('close', () => (failure ? reject(failure) : resolve({ code, stdout: stdout(), stderr: stderr() })));
      if (!(input instanceof Readable)) return channel.end(input);
      pipeline(input, channel).catch(() => {
        // A source that fails has the last word. The other side, when it gives up before it has read all, says why itself.
        failure = input.errored ?? undefined;
      });
    });
  });
}

function collect(stream: NodeJS.ReadableStream, channel: ClientChannel): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxOutput) channel.destroy();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function createGate(limit: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      // Its place goes to the next one, if there is one.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const lost = ({ name, address, port }: SshHost, cause: Error): BoxError =>
  new BoxError('unavailable', `The host ${name} (${address}:${port}) is not reached over SSH: ${cause.message}`, { cause });

const stranger = ({ name, fingerprint }: SshHost, shown: string): BoxError =>
  new BoxError('unavailable', `The host ${name} shows the key ${shown}, and not ${fingerprint}.`, {
    hint: 'Correct the fingerprint only if you know why the key of the machine changed.',
  });
