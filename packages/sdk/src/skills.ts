import type { Bytes, CallOptions, Connection } from './connection.ts';
import { everyItem } from './pages.ts';
import type { Page, PushedSkill, Routes, Skill, SkillDependencies, SkillSummary } from './types.ts';
import { type PackedFile, zip } from './zip.ts';

export type SkillList = Routes['GET /v1/skills']['input'];

export class Skills {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** One page: each skill in its latest version. */
  list(query: SkillList = {}, options?: CallOptions): Promise<Page<SkillSummary>> {
    return this.#connection.call('GET /v1/skills', query, options);
  }

  /** All of them, page by page. */
  all(query: SkillList = {}, options?: CallOptions): AsyncGenerator<SkillSummary> {
    return everyItem((next) => this.list(next, options), query);
  }

  /** By words in name, description and instructions. */
  search(words: string, query: { limit?: number } = {}, options?: CallOptions): Promise<Page<SkillSummary>> {
    return this.#connection.call('GET /v1/skills/search', { q: words, ...query }, options);
  }

  /** With instructions and schemas. */
  get(name: string, version = 'latest', options?: CallOptions): Promise<Skill> {
    return this.#connection.call('GET /v1/skills/{name}/{version}', { name, version }, options);
  }

  /** The bytes of one of its files, as it was pushed; its record lists them. */
  file(name: string, version: string, path: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#connection.call('GET /v1/skills/{name}/{version}/files/{path}', { name, version, path }, options);
  }

  /** Highest first. */
  versions(name: string, options?: CallOptions): Promise<Page<SkillSummary>> {
    return this.#connection.call('GET /v1/skills/{name}/versions', { name }, options);
  }

  /** A zip with SKILL.md at its root or one folder down. The same content again changes nothing. */
  push(archive: Bytes, options?: CallOptions): Promise<PushedSkill> {
    return this.#connection.call('POST /v1/skills', {}, { ...options, body: archive, contentType: 'application/zip' });
  }

  /** Paths and contents, SKILL.md among them. */
  pushFiles(files: Readonly<Record<string, string | Uint8Array>> | readonly PackedFile[], options?: CallOptions): Promise<PushedSkill> {
    const list = Array.isArray(files)
      ? (files as readonly PackedFile[])
      : Object.entries(files).map(([path, data]) => ({ path, data: toBytes(data) }));
    return this.push(zip(list), options);
  }

  /** A folder with SKILL.md, or a zip of one, on the disk. Not in browsers: pushFiles is for them. */
  async pushFolder(path: string, options?: CallOptions): Promise<PushedSkill> {
    const { readSkill } = await import('#folders');
    const found = await readSkill(path);
    return found instanceof Uint8Array ? this.push(found, options) : this.pushFiles(found, options);
  }

  delete(name: string, version: string, options?: CallOptions): Promise<undefined> {
    return this.#connection.call('DELETE /v1/skills/{name}/{version}', { name, version }, options);
  }

  /** Installs its dependencies, once more if that failed; answers at once. */
  build(name: string, version = 'latest', options?: CallOptions): Promise<SkillDependencies> {
    return this.#connection.call('POST /v1/skills/{name}/{version}/build', { name, version }, options);
  }

  /** What the installer said. */
  buildLog(name: string, version = 'latest', options?: CallOptions): Promise<string> {
    return this.#connection.call('GET /v1/skills/{name}/{version}/build', { name, version }, options);
  }
}

const toBytes = (data: string | Uint8Array): Uint8Array => (typeof data === 'string' ? new TextEncoder().encode(data) : data);
