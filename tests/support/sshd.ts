/** A machine to reach over SSH: a real sshd with processes, homes and accounts of its own, so that nothing here is touched. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createConnection } from '../../packages/box/src/sandbox/providers/machines/connection.ts';
import type { SshHost } from '../../packages/box/src/sandbox/providers/machines/hosts.ts';

export interface TestSshd {
  readonly host: SshHost;
  stop(): Promise<void>;
}

const sshd = '/usr/sbin/sshd';
const startLimitMs = 15_000;
/** Of the account. */
export const uid = 5000;

/** Whether one can be started here; says so when it cannot. */
export function sshdIsInstalled(): boolean {
  const why = process.getuid?.() !== 0 ? 'only root can start an sshd' : existsSync(sshd) ? '' : 'openssh-server is not installed';
  if (why) console.warn(`SKIPPED: ${why}, so nothing is tested over SSH. Run scripts/setup.sh test as root to run these tests.`);
  return !why;
}

export interface SshdOptions {
  /** Of an engine that the account uses. Its home is then a folder that the engine sees too. */
  readonly dockerSocket?: string;
}

export async function startSshd({ dockerSocket }: SshdOptions = {}): Promise<TestSshd> {
  const folder = mkdtempSync(join(tmpdir(), 'sbs-'));
  const home = dockerSocket === undefined ? '/home/builder' : join(folder, 'builder');
  // The account that logs in reads its keys from here.
  chmodSync(folder, 0o755);
  const port = await freePort();
  for (const name of ['host_key', 'user_key']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
  writeFileSync(
    join(folder, 'passwd'),
    `root:x:0:0::/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\nbuilder:x:${uid}:${uid}::${home}:/bin/bash\n`,
  );
  writeFileSync(join(folder, 'shadow'), 'root:*:1::::::\nsshd:*:1::::::\nbuilder:*:1::::::\n', { mode: 0o600 });
  writeFileSync(join(folder, 'config'), configText(folder, port));
  mkdirSync('/run/sshd', { recursive: true });
  const log = openSync(join(folder, 'log'), 'w');
  // The shell is the first process of its own process namespace: with it everything there ends.
  const apart = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const server = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...apart, '/bin/sh', '-ec', machineScript, 'sh', folder, home], {
    stdio: ['ignore', log, log],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  closeSync(log);
  const kill = (): void => void server.kill('SIGKILL');
  // Also when a test file ends without its afterAll.
  process.once('exit', kill);
  const fingerprint = execFileSync('ssh-keygen', ['-lf', join(folder, 'host_key.pub')], { encoding: 'utf8' }).split(' ')[1] ?? '';
  const host: SshHost = {
    name: 'machine',
    address: '127.0.0.1',
    port,
    user: 'builder',
    keyFile: join(folder, 'user_key'),
    fingerprint,
    dockerSocket: dockerSocket ?? '/var/run/docker.sock',
  };
  await untilReady(host, () => server.exitCode !== null, join(folder, 'log'));
  return {
    host,
    async stop() {
      process.off('exit', kill);
      const exited = server.exitCode === null ? once(server, 'exit') : undefined;
      kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const machineScript = `
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
mount -t tmpfs -o mode=755 tmpfs /home
mkdir -m 750 "$2"
chown ${uid}:${uid} "$2"
exec ${sshd} -D -e -f "$1/config"`;

const configText = (folder: string, port: number): string => `ListenAddress 127.0.0.1:${port}
HostKey ${folder}/host_key
AuthorizedKeysFile ${folder}/user_key.pub
PidFile none
UsePAM no
PasswordAuthentication no
AllowAgentForwarding no
StrictModes no
`;

async function untilReady(host: SshHost, hasEnded: () => boolean, log: string): Promise<void> {
  const deadline = Date.now() + startLimitMs;
  const connection = createConnection(host);
  for (;;) {
    const answers = await connection.run('true').then(
      () => true,
      () => false,
    );
    if (answers) return connection.close();
    if (hasEnded() || Date.now() > deadline) throw new Error(`sshd did not start:\n${readFileSync(log, 'utf8').slice(-4000)}`);
    await delay(50);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
