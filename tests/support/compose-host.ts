/** A placement host: a real sshd whose account may use a real engine, and a project to run there. */

import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { dockerIsInstalled, startDocker, type TestDocker } from './docker.ts';
import { findProgram } from './programs.ts';
import { sshdIsInstalled, startSshd, type TestSshd, uid } from './sshd.ts';

export interface ComposeHost {
  readonly ssh: TestSshd;
  readonly engine: TestDocker;
  /** Projects in it may be copied. */
  readonly root: string;
  /** Writes a project and gives its folder. */
  project(name: string, files: Readonly<Record<string, string>>): string;
  stop(): Promise<void>;
}

/** Whether one can be started here; says so when it cannot. */
export function composeIsInstalled(): boolean {
  const hasParts = dockerIsInstalled() && sshdIsInstalled();
  const hasCompose = findProgram('docker-compose') !== undefined;
  if (hasParts && !hasCompose)
    console.warn(
      'SKIPPED: docker-compose is not installed, so no project is tested. Run scripts/setup.sh test as root to run these tests.',
    );
  return hasParts && hasCompose;
}

export async function startComposeHost(): Promise<ComposeHost> {
  const engine = await startDocker();
  chmodSync(dirname(engine.socket), 0o711);
  chownSync(engine.socket, 0, uid);
  const ssh = await startSshd({ dockerSocket: engine.socket }).catch(async (error) => {
    await engine.stop();
    throw error;
  });
  const root = mkdtempSync(join(tmpdir(), 'sb-projects-'));
  return {
    ...{ ssh, engine, root },
    project(name, files) {
      const folder = join(root, name);
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      return folder;
    },
    async stop() {
      await ssh.stop();
      await engine.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
