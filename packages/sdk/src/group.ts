import type { Connection } from './connection.ts';

/** Calls that belong together. */
export abstract class Group {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }
}
