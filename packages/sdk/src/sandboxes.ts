import type { CallOptions, Connection } from './connection.ts';
import { everyItem } from './pages.ts';
import { SandboxHandle } from './sandbox.ts';
import type { CreateSandbox, Page, Routes, Sandbox, Snapshot } from './types.ts';

export type SandboxList = Routes['GET /v1/sandboxes']['input'];
export type SnapshotList = Routes['GET /v1/snapshots']['input'];

export class Sandboxes {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Answers when it is ready. */
  async create(request: CreateSandbox = {}, options?: CallOptions): Promise<SandboxHandle & { readonly record: Sandbox }> {
    const record = await this.#connection.call('POST /v1/sandboxes', request, options);
    return Object.assign(new SandboxHandle(this.#connection, record.id), { record });
  }

  list(query: SandboxList = {}, options?: CallOptions): Promise<Page<Sandbox>> {
    return this.#connection.call('GET /v1/sandboxes', query, options);
  }

  /** All of them, newest first, page by page. */
  all(query: SandboxList = {}, options?: CallOptions): AsyncGenerator<Sandbox> {
    return everyItem((next) => this.list(next, options), query);
  }

  snapshots(query: SnapshotList = {}, options?: CallOptions): Promise<Page<Snapshot>> {
    return this.#connection.call('GET /v1/snapshots', query, options);
  }

  deleteSnapshot(id: string, options?: CallOptions): Promise<undefined> {
    return this.#connection.call('DELETE /v1/snapshots/{id}', { id }, options);
  }
}
