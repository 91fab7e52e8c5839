/**
 * The declared environment of the box, and the timelines of work in it. What starts or fetches is waited for without a limit, and with
 * `onProgress` it tells how it goes on.
 */

import type { CallOptions } from './connection.ts';
import { type FollowOptions, follow, type ServerEvent } from './event-stream.ts';
import { Group } from './group.ts';
import { callWithProgress, type ProgressOptions } from './progress.ts';
import type * as t from './types.ts';

type Input<R extends keyof t.Routes> = t.Routes[R]['input'];

export type LogEvent = ServerEvent<t.ServiceLogLine>;

export class Runtime extends Group {
  /** State of everything that is declared, and what needs attention. */
  status(query: Input<'GET /v1/runtime'> = {}, options?: CallOptions): Promise<t.RuntimeStatus> {
    return this.connection.call('GET /v1/runtime', query, options);
  }

  /** The model of the box: its paths inside and on the host, ports, clients and profiles. */
  describe(options?: CallOptions): Promise<t.BoxModel> {
    return this.connection.call('GET /v1/sandbox', {}, options);
  }

  /** What is declared, after overlays, profiles and placeholders. */
  render(query: Input<'GET /v1/runtime/graph'> = {}, options?: CallOptions): Promise<t.RenderedGraph> {
    return this.connection.call('GET /v1/runtime/graph', query, options);
  }

  /** Brings repos, artifacts, env files, log folders and skills to what is declared. */
  sync(request: Input<'POST /v1/runtime/sync'> = {}, options?: ProgressOptions): Promise<t.SyncReport> {
    return callWithProgress(this.connection, 'POST /v1/runtime/sync', request, options);
  }

  /** Syncs, then runs the tasks whose success check does not hold yet. */
  bootstrap(request: Input<'POST /v1/runtime/bootstrap'> = {}, options?: ProgressOptions): Promise<t.BootstrapReport> {
    return callWithProgress(this.connection, 'POST /v1/runtime/bootstrap', request, options);
  }

  /** Starts services with what they need, and waits until they are healthy: look at `ok`. */
  up(request: Input<'POST /v1/runtime/up'> = {}, options?: ProgressOptions): Promise<t.UpReport> {
    return callWithProgress(this.connection, 'POST /v1/runtime/up', request, options);
  }

  /** Stops services, those that need others first. The server that answers goes on. */
  down(request: Input<'POST /v1/runtime/down'> = {}, options?: ProgressOptions): Promise<t.DownReport> {
    return callWithProgress(this.connection, 'POST /v1/runtime/down', request, options);
  }

  /** Stops services with those that need them, then starts all of these again. */
  restart(request: Input<'POST /v1/runtime/restart'> = {}, options?: ProgressOptions): Promise<t.UpReport> {
    return callWithProgress(this.connection, 'POST /v1/runtime/restart', request, options);
  }

  /** The last lines that services and tasks wrote. */
  async logs(query: Input<'GET /v1/runtime/logs'> = {}, options?: CallOptions): Promise<t.ServiceLog[]> {
    return (await this.connection.call('GET /v1/runtime/logs', query, options)).items;
  }

  /** The last lines, then each that is written, until the signal aborts; goes on by itself where a connection broke. */
  async *followLogs(query: Input<'GET /v1/runtime/logs'> = {}, options: FollowOptions = {}): AsyncGenerator<LogEvent> {
    const events = follow(this.connection, 'GET /v1/runtime/logs', query, () => false, options);
    for await (const event of events) yield event as unknown as LogEvent;
  }

  /** Checks the machine and the graph, with the line that mends each fault. */
  doctor(query: Input<'GET /v1/runtime/doctor'> = {}, options?: CallOptions): Promise<t.GraphExamination> {
    return this.connection.call('GET /v1/runtime/doctor', query, options);
  }

  /** Writes CLAUDE.md and AGENTS.md, which tell agents where they are. */
  context(request: Input<'POST /v1/runtime/context'> = {}, options?: CallOptions): Promise<t.ContextReport> {
    return this.connection.call('POST /v1/runtime/context', request, options);
  }

  /** Activates a client in one pass; with `{ resume: true }` the last one, without redoing what still holds. */
  focus(request: Input<'POST /v1/runtime/focus'>, options?: ProgressOptions): Promise<t.FocusReport> {
    return callWithProgress(this.connection, 'POST /v1/runtime/focus', request, options);
  }

  /** What the supervisor sees and did. */
  pulse(options?: CallOptions): Promise<t.PulseStatus> {
    return this.connection.call('GET /v1/runtime/pulse', {}, options);
  }

  startPulse(request: Input<'POST /v1/runtime/pulse/start'> = {}, options?: CallOptions): Promise<t.PulseStatus> {
    return this.connection.call('POST /v1/runtime/pulse/start', request, options);
  }

  /** Services go on, and nobody starts them again when they fall. */
  stopPulse(options?: CallOptions): Promise<t.PulseStatus> {
    return this.connection.call('POST /v1/runtime/pulse/stop', {}, options);
  }
}

/** Durable timelines of work notes, one per piece of work and client. */
export class Sessions extends Group {
  start(request: Input<'POST /v1/runtime/sessions'>, options?: CallOptions): Promise<t.WorkSession> {
    return this.connection.call('POST /v1/runtime/sessions', request, options);
  }

  /** Adds to one that is active. */
  event(id: string, event: Omit<Input<'POST /v1/runtime/sessions/{id}/events'>, 'id'>, options?: CallOptions): Promise<t.SessionEvent> {
    return this.connection.call('POST /v1/runtime/sessions/{id}/events', { id, ...event }, options);
  }

  /** Tells that somebody still works on it. */
  heartbeat(id: string, options?: CallOptions): Promise<t.WorkSession> {
    return this.connection.call('POST /v1/runtime/sessions/{id}/heartbeat', { id }, options);
  }

  end(id: string, how: Omit<Input<'POST /v1/runtime/sessions/{id}/end'>, 'id'> = {}, options?: CallOptions): Promise<t.WorkSession> {
    return this.connection.call('POST /v1/runtime/sessions/{id}/end', { id, ...how }, options);
  }

  /** Goes on with one that ended. */
  resume(id: string, options?: CallOptions): Promise<t.WorkSession> {
    return this.connection.call('POST /v1/runtime/sessions/{id}/resume', { id }, options);
  }

  /** Newest first. */
  async list(query: Input<'GET /v1/runtime/sessions'> = {}, options?: CallOptions): Promise<t.WorkSession[]> {
    return (await this.connection.call('GET /v1/runtime/sessions', query, options)).items;
  }

  /** With its events and what it handed over. */
  get(id: string, options?: CallOptions): Promise<t.WorkSessionDetail> {
    return this.connection.call('GET /v1/runtime/sessions/{id}', { id }, options);
  }
}
