/** The TypeScript SDK of Skillbox. Nothing here needs more than fetch. */

export { Client, type RunOptions } from './client.ts';
export type { Bytes, CallOptions, ClientOptions, SocketConstructor, SocketLike } from './connection.ts';
export { APIError, ConnectionError, SkillboxError, TimeoutError } from './errors.ts';
export type { FollowOptions, ServerEvent } from './event-stream.ts';
export { type ExecutionList, type ExecutionResult, isFinal, type OutputEvent, type RunRequest } from './executions.ts';
export type { ExecOptions, ExecResult, OutputOptions, ProgramHandle, ProgramOutput, StartOptions } from './programs.ts';
export type { ProgressOptions } from './progress.ts';
export type { LogEvent } from './runtime.ts';
export type { ForkRequest, NetworkChange, SandboxHandle } from './sandbox.ts';
export type { SandboxList, SnapshotList } from './sandboxes.ts';
export type { Terminal, TerminalExit, TerminalOptions } from './terminal.ts';
export type * from './types.ts';
export { type PackedFile, zip } from './zip.ts';
