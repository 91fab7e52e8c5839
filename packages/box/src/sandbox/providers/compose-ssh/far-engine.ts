/** The engine of a placement host: its socket through the SSH connection, so that nothing of it is open to a network. */

import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import { type Engine, openEngine } from '../docker/engine.ts';
import type { Connection } from '../machines/connection.ts';
import type { SshHost } from '../machines/hosts.ts';

export function openFarEngine(connection: Connection, { name, dockerSocket }: SshHost): Engine {
  return openEngine({ agent: new SocketAgent(connection, dockerSocket), name: `${name}:${dockerSocket}` });
}

class SocketAgent extends Agent {
  constructor(
    private readonly connection: Connection,
    private readonly path: string,
  ) {
    // A channel costs nothing to open, and one that is kept would keep the connection.
    super({ keepAlive: false });
  }

  override createConnection(_options: unknown, done?: (error: Error | null, stream: Duplex) => void): undefined {
    this.connection.reach(this.path).then(
      (stream) => (stream ? done?.(null, stream) : done?.(refused(this.path), undefined as never)),
      (error: Error) => done?.(error, undefined as never),
    );
  }
}

const refused = (path: string): BoxError =>
  new BoxError('unavailable', `The Docker engine is not reached at ${path}.`, {
    hint: 'Start it there and let the account use its socket, or set docker_socket in the file of hosts.',
  });
