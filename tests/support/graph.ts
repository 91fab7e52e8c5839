/** Graphs made by hand, for tests of rooms that take one: real folders, real programs, no manifest. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../packages/box/src/config.ts';
import type { Bridge, Check, Graph, Item, Place, Service, Task } from '../../packages/box/src/graph/graph.ts';
import type { Runtime } from '../../packages/box/src/graph/runtime.ts';

export interface GraphGround {
  /** The host's own ground: where the manifest would be. */
  readonly folder: string;
  readonly stateRoot: string;
  readonly runtime: Runtime;
  /** What was told of progress. */
  readonly told: string[];
  remove(): void;
}

export function newGround(options: { readonly signal?: AbortSignal; readonly env?: Record<string, string> } = {}): GraphGround {
  return groundAt(mkdtempSync(join(tmpdir(), 'skillbox-graph-')), options);
}

/** The same in a folder that is there. */
export function groundAt(
  folder: string,
  options: { readonly signal?: AbortSignal; readonly env?: Record<string, string> } = {},
): GraphGround {
  const told: string[] = [];
  const config = loadConfig({ cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...options.env } });
  const signal = options.signal ?? new AbortController().signal;
  return {
    folder,
    stateRoot: config.stateRoot,
    told,
    runtime: { config, server: false, signal, progress: (text) => void told.push(text) },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** On the host's own ground. */
export const hostPlace = (path: string): Place => ({ path, hostPath: path, inside: false });

const item = (id: string): Item => ({
  ...{ id, client: undefined, required: false, profiles: [], notes: undefined },
  origin: { file: 'skillbox.yaml', line: 1 },
});

export type ServiceDraft = Partial<Service> & Pick<Service, 'id'> & { readonly command?: string };

export function service(cwd: string, { id, command, ...more }: ServiceDraft): Service {
  return {
    ...item(id),
    ...{ kind: 'service', repo: undefined, artifact: undefined, dependsOn: [], bootstrapTasks: [], envFiles: [], log: undefined },
    ...{ healthcheck: undefined, ports: [], startMs: 5000, stopMs: 5000, restart: true, own: undefined },
    ...{ cwd: hostPlace(cwd), env: {}, template: undefined },
    commands: command === undefined ? {} : { reuse: command, prod: command, fresh: command },
    ...more,
  };
}

export function task(cwd: string, { id, command, ...more }: Partial<Task> & Pick<Task, 'id' | 'command'>): Task {
  return {
    ...item(id),
    ...{ kind: 'task', command, repo: undefined, dependsOn: [], inputs: [], outputs: [], log: undefined },
    ...{ success: undefined, timeoutMs: 30_000, cwd: hostPlace(cwd), env: {}, template: undefined },
    ...more,
  };
}

export function bridge(cwd: string, { id, command, ...more }: Partial<Bridge> & Pick<Bridge, 'id' | 'command'>): Bridge {
  return {
    ...item(id),
    ...{ command, cwd: hostPlace(cwd), env: {}, template: undefined },
    ...{ envTier: 'local', legacyTargets: [], outputRoot: hostPlace(cwd), outputs: [], inputs: [] },
    ...more,
  };
}

export const check = (id: string, probe: Check['probe']): Check => ({ ...item(id), probe });

export function graph(sections: Partial<Graph> = {}): Graph {
  return {
    ...{ client: undefined, profiles: ['core'], clients: [], knownProfiles: ['core'] },
    ...{ repos: [], artifacts: [], envFiles: [], skills: [], tasks: [], services: [], logs: [], checks: [], bridges: [] },
    ...{ parityLedger: [], connectors: [], variables: {}, configHash: '0123456789abcdef', why: new Map() },
    ...sections,
  };
}

export const httpHealth = (port: number, path = '/'): NonNullable<Service['healthcheck']> => ({
  ...{ type: 'http', url: `http://127.0.0.1:${port}${path}`, status: undefined, intervalMs: 100, timeoutMs: 2000 },
});

export const portHealth = (port: number): NonNullable<Service['healthcheck']> => ({
  ...{ type: 'port', port, host: '127.0.0.1', intervalMs: 100, timeoutMs: 2000 },
});

/** A server in one line, whose answer is its own pid. */
export const smallServer = (port: number): string =>
  `exec ${process.execPath} -e 'require("http").createServer((q, s) => s.end(String(process.pid))).listen(${port}, "127.0.0.1")'`;

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
