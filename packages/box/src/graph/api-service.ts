/** The server of the box, as a service of its own graph. */

import type { Config } from '../config.ts';
import type { Entry, Source } from './declared.ts';
import type { Service } from './graph.ts';
import type { PathMap } from './paths.ts';
import { apiService } from './rules.ts';

export function createApiService({ port, bind, baseDir }: Config, source: Source, paths: PathMap): Entry<Service> {
  const address = bind === '0.0.0.0' || bind === '::' ? '127.0.0.1' : bind;
  const command = 'skillbox serve';
  const item: Service = {
    id: apiService,
    client: undefined,
    required: true,
    profiles: ['core'],
    notes: 'The server of the box: API, dashboard, MCP and sandboxes',
    origin: { file: 'default', line: 0 },
    kind: 'skillbox',
    repo: undefined,
    artifact: undefined,
    commands: { reuse: command, prod: command, fresh: command },
    cwd: paths.fromHost(baseDir),
    env: {},
    template: undefined,
    dependsOn: [],
    bootstrapTasks: [],
    envFiles: [],
    log: undefined,
    // Port 0 is one that the system picks: its record says which.
    healthcheck:
      port === 0
        ? undefined
        : {
            type: 'http',
            url: `http://${address.includes(':') ? `[${address}]` : address}:${port}/ready`,
            status: undefined,
            intervalMs: 250,
            timeoutMs: 5000,
          },
    ports: port === 0 ? [] : [port],
    startMs: 30_000,
    stopMs: 30_000,
    restart: true,
    own: 'api',
  };
  return { item, source, path: [] };
}
