/** Files of one sandbox. A relative path starts at /home/user. */

import type { Bytes, CallOptions, Connection } from './connection.ts';
import { APIError } from './errors.ts';
import { readEvents, type ServerEvent } from './event-stream.ts';
import type { ErrorBody, FileEntry, Routes, WatchEvent } from './types.ts';

export type ReadRange = Pick<Routes['GET /v1/sandboxes/{id}/files']['input'], 'offset' | 'limit'>;
export type WriteOptions = Omit<Routes['PUT /v1/sandboxes/{id}/files']['input'], 'id' | 'path'>;

export class SandboxFiles {
  readonly #connection: Connection;
  readonly #id: string;

  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.#id = id;
  }

  read(path: string, range: ReadRange = {}, options?: CallOptions): Promise<Uint8Array> {
    return this.#connection.call('GET /v1/sandboxes/{id}/files', { id: this.#id, path, ...range }, options);
  }

  async readText(path: string, options?: CallOptions): Promise<string> {
    return new TextDecoder().decode(await this.read(path, {}, options));
  }

  /** As it comes, of any size. */
  async open(path: string, range: ReadRange = {}, options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.#connection.open('GET /v1/sandboxes/{id}/files', { id: this.#id, path, ...range }, options);
    return body as ReadableStream<Uint8Array>;
  }

  /** The file appears whole or not at all; folders on the way are made. */
  write(path: string, content: Bytes, write: WriteOptions = {}, options?: CallOptions): Promise<FileEntry> {
    return this.#connection.call('PUT /v1/sandboxes/{id}/files', { id: this.#id, path, ...write }, { ...options, body: content });
  }

  stat(path: string, options?: CallOptions): Promise<FileEntry> {
    return this.#connection.call('GET /v1/sandboxes/{id}/files/stat', { id: this.#id, path }, options);
  }

  /** Default: the home folder. */
  async list(path?: string, query: { depth?: number; limit?: number } = {}, options?: CallOptions): Promise<FileEntry[]> {
    return (await this.#connection.call('GET /v1/sandboxes/{id}/files/list', { id: this.#id, path, ...query }, options)).items;
  }

  makeDir(path: string, options?: CallOptions): Promise<FileEntry> {
    return this.#connection.call('POST /v1/sandboxes/{id}/files/mkdir', { id: this.#id, path }, options);
  }

  move(from: string, to: string, options?: CallOptions): Promise<FileEntry> {
    return this.#connection.call('POST /v1/sandboxes/{id}/files/move', { id: this.#id, from, to }, options);
  }

  /** A folder goes with everything in it. */
  remove(path: string, options?: CallOptions): Promise<undefined> {
    return this.#connection.call('DELETE /v1/sandboxes/{id}/files', { id: this.#id, path }, options);
  }

  /** `create`, `write`, `remove`, `rename` and `attributes` from now on, until the reader leaves. What a broken connection missed is gone: it throws. */
  async *watch(path?: string, query: { recursive?: boolean } = {}, options?: CallOptions): AsyncGenerator<ServerEvent<WatchEvent>> {
    const { body } = await this.#connection.open('GET /v1/sandboxes/{id}/files/watch', { id: this.#id, path, ...query }, options);
    for await (const event of readEvents<WatchEvent>(body as ReadableStream<Uint8Array>)) {
      if (event.event === 'error') throw new APIError(503, event.data as unknown as ErrorBody);
      yield event;
    }
  }
}
