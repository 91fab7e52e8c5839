import type { CallOptions, Connection } from './connection.ts';
import { type FollowOptions, follow, type ServerEvent } from './event-stream.ts';
import { everyItem } from './pages.ts';
import type { Artifact, Execution, ExecutionEvent, ExecutionFigures, ExecutionRequest, ExecutionSummary, Page, Routes } from './types.ts';

export type ExecutionList = Routes['GET /v1/executions']['input'];
export type RunRequest = Omit<ExecutionRequest, 'wait'>;

/** Output as it comes: `stdout`, `stderr`, and `status` whose text is the new one. */
export type OutputEvent = ServerEvent<ExecutionEvent> & { readonly event: 'stdout' | 'stderr' | 'status' };

/** The record of an execution as the box sent it, and what it means. What was added does not show in JSON. */
export interface ExecutionResult<Output = unknown> extends Execution {
  output: Output;
  /** Whether it made artifacts. */
  readonly hasFiles: boolean;
  /** Whether it has ended. */
  readonly finished: boolean;
}

function resultOf<Output>(record: Execution): ExecutionResult<Output> {
  return Object.defineProperties(record, {
    hasFiles: { get: () => record.files_list.length > 0 },
    finished: { get: () => isFinal(record.status) },
  }) as ExecutionResult<Output>;
}

export const isFinal = (status: string): boolean => status !== 'queued' && status !== 'running';

export class Executions {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Runs a skill and waits for its end, however it ends. It is sent under an Idempotency-Key, so that a retry never runs it twice.
   * Aborting gives up the waiting only: to stop an execution, submit and cancel it.
   */
  async run<Output = unknown>(request: RunRequest, options: CallOptions = {}): Promise<ExecutionResult<Output>> {
    const record = await this.#create<Output>({ ...request, wait: true }, { timeoutMs: 0, ...options });
    return record.finished ? record : this.wait<Output>(record.execution_id, options);
  }

  /** Starts a run and answers at once. */
  submit(request: RunRequest, options: CallOptions = {}): Promise<ExecutionResult> {
    return this.#create({ ...request, wait: false }, options);
  }

  async #create<Output>(request: ExecutionRequest, options: CallOptions): Promise<ExecutionResult<Output>> {
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    return resultOf(await this.#connection.call('POST /v1/executions', request, { ...options, idempotencyKey }));
  }

  /** Its record, once it has ended. */
  async wait<Output = unknown>(id: string, options: CallOptions = {}): Promise<ExecutionResult<Output>> {
    for await (const event of this.stream(id, options)) if (event.event === 'status' && isFinal(event.data.text)) break;
    return this.get<Output>(id, options);
  }

  /** Output and states from the beginning, or after `lastEventId`, until it has ended; goes on by itself where a connection broke. */
  stream(id: string, options: FollowOptions = {}): AsyncGenerator<OutputEvent> {
    const isLast = ({ event, data }: ServerEvent<ExecutionEvent>): boolean => event === 'status' && isFinal(data.text);
    return follow(this.#connection, 'GET /v1/executions/{id}/events', { id }, isLast, options) as AsyncGenerator<OutputEvent>;
  }

  list(query: ExecutionList = {}, options?: CallOptions): Promise<Page<ExecutionSummary>> {
    return this.#connection.call('GET /v1/executions', query, options);
  }

  /** All of them, newest first, page by page. */
  all(query: ExecutionList = {}, options?: CallOptions): AsyncGenerator<ExecutionSummary> {
    return everyItem((next) => this.list(next, options), query);
  }

  /** How they did of late: how many, how they ended, where their time went. */
  figures(query: Routes['GET /v1/executions/figures']['input'] = {}, options?: CallOptions): Promise<ExecutionFigures> {
    return this.#connection.call('GET /v1/executions/figures', query, options);
  }

  async get<Output = unknown>(id: string, options?: CallOptions): Promise<ExecutionResult<Output>> {
    return resultOf(await this.#connection.call('GET /v1/executions/{id}', { id }, options));
  }

  logs(id: string, options?: CallOptions): Promise<string> {
    return this.#connection.call('GET /v1/executions/{id}/logs', { id }, options);
  }

  /** Ends its whole process tree, or takes it out of the queue. */
  async cancel(id: string, options?: CallOptions): Promise<ExecutionResult> {
    return resultOf(await this.#connection.call('POST /v1/executions/{id}/cancel', { id }, options));
  }

  /** With its log and artifacts. */
  delete(id: string, options?: CallOptions): Promise<undefined> {
    return this.#connection.call('DELETE /v1/executions/{id}', { id }, options);
  }

  /** Its artifacts. */
  files(id: string, options?: CallOptions): Promise<Page<Artifact>> {
    return this.#connection.call('GET /v1/executions/{id}/files', { id }, options);
  }

  /** The bytes of one artifact. */
  file(id: string, path: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#connection.call('GET /v1/executions/{id}/files/{path}', { id, path }, options);
  }

  /** One artifact, as it comes. */
  async openFile(id: string, path: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.#connection.open('GET /v1/executions/{id}/files/{path}', { id, path }, options);
    return body as ReadableStream<Uint8Array>;
  }

  /** All artifacts, as a tar.gz. */
  archive(id: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#connection.call('GET /v1/executions/{id}/files.tar.gz', { id }, options);
  }

  /** Writes its artifacts under a folder, none of them outside; resolves to the paths written. Not in browsers. */
  async download(
    { execution_id, files_list }: Pick<Execution, 'execution_id' | 'files_list'>,
    folder: string,
    options?: CallOptions,
  ): Promise<string[]> {
    const { writeArtifacts } = await import('#folders');
    return writeArtifacts(files_list, folder, ({ path }) => this.openFile(execution_id, path, options));
  }
}
