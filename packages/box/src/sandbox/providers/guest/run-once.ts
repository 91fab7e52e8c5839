/** One program from start to collected files, over the guest's channel, whoever made the sandbox around it. */

import { constants } from 'node:os';
import { type Duplex, PassThrough } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { CollectProblem, RunRequest, RunResult } from '../../provider.ts';
import {
  collectFrame,
  type EntryReport,
  type ExitReport,
  type Frame,
  type Frames,
  fileFrames,
  jobFrame,
  killFrame,
  ProtocolViolation,
  parseEntry,
  parseExit,
  prepareFrame,
  readFrames,
  startFrame,
} from './channel.ts';

/** How long the guest has to end everything and report, once told to. */
const killGraceMs = 1000;
/** How long a sandbox may take from launch to ready; a start is about 10 ms. */
const startLimitMs = 20_000;
/** How long collecting may take after the program has ended. */
const collectLimitMs = 120_000;
/** Files up to this size are handed over whole, larger ones as a stream. */
const wholeFileBytes = 256 * 1024;
const outputName = 'output.json';
const artifactPrefix = 'files/';

/** A sandbox for one program: its guest is connected, or about to be. */
export interface OneShot {
  readonly channel: Duplex;
  /** Ends everything from outside. */
  kill(): void;
  /** Whether the kernel ended something in it for want of memory. */
  ranOutOfMemory(): Promise<boolean> | boolean;
  /** 0 where it is not known. */
  peakMemory(): number;
  /** Resolves once it is gone, with what it said about why, and whether somebody else ended it. */
  gone(): Promise<{ readonly said: string; readonly killed: boolean }>;
}

/** The sandbox was ended by somebody else before its guest was ready: nothing has run. */
export class LostBeforeStart extends BoxError {}

/** A sandbox that stands ready for one job: its guest answers, and perhaps its interpreter waits. */
export interface Standing {
  readonly sandbox: OneShot;
  readonly frames: Frames;
  /** Whether a program waits in it, so that a job is handed over instead of started. */
  readonly waits: boolean;
}

/** Rejects when it cannot be made ready in that time. */
export function prepare(sandbox: OneShot, waiter: Waiter | undefined, nextTurn: NextTurn): Promise<Standing> {
  return stand(sandbox, readFrames(sandbox.channel), waiter, nextTurn);
}

/** Its parent announces each run by what only that run can repeat: whatever else comes before is of a run that should be gone. */
type NextTurn = () => Promise<string | undefined>;

/** The next run of a sandbox that makes one after the other. */
export function prepareNext({ frames, sandbox }: Standing, waiter: Waiter | undefined, nextTurn: NextTurn): Promise<Standing> {
  return stand(sandbox, frames, waiter, nextTurn);
}

async function stand(sandbox: OneShot, frames: Frames, waiter: Waiter | undefined, nextTurn: NextTurn): Promise<Standing> {
  const { channel } = sandbox;
  const timer = setTimeout(() => sandbox.kill(), startLimitMs);
  const expect = async (type: string, payload = ''): Promise<void> => {
    const { value } = await frames.next();
    if (value?.type === type && value.payload.toString('latin1') === payload) return;
    sandbox.kill();
    const said = value?.type === '!' ? value.payload.subarray(4).toString('utf8') : (await sandbox.gone()).said;
    throw new BoxError('sandbox_failed', `A sandbox could not be made ready ahead of its job: ${said || 'it ended'}`);
  };
  try {
    const turn = await nextTurn();
    await expect('R', turn);
    if (waiter && 'argv' in waiter) channel.write(prepareFrame(waiter.argv, waiter.env, '/sandbox'));
    if (waiter) await expect('W');
    return { sandbox, frames, waits: waiter !== undefined };
  } finally {
    clearTimeout(timer);
  }
}

/** A program that waits for its job: to be started, or a copy of one that was. */
export type Waiter = { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> } | { readonly cloned: true };

export function runOnce(sandbox: OneShot, request: RunRequest): Promise<RunResult> {
  return follow(sandbox, readFrames(sandbox.channel), request, { started: false, waits: false });
}

export function runStanding({ sandbox, frames, waits }: Standing, request: RunRequest): Promise<RunResult> {
  return follow(sandbox, frames, request, { started: true, waits });
}

async function follow(
  sandbox: OneShot,
  frames: Frames,
  request: RunRequest,
  state: { started: boolean; readonly waits: boolean },
): Promise<RunResult> {
  const { limits, signal } = request;
  const { channel } = sandbox;
  let end: RunResult['end'] = 'exited';
  let exit: ExitReport | undefined;
  let { started } = state;
  let stalled = false;
  const timers = new Set<NodeJS.Timeout>();
  const after = (ms: number, action: () => void): NodeJS.Timeout => {
    const timer = setTimeout(action, ms);
    timers.add(timer);
    return timer;
  };
  const killAll = (): void => sandbox.kill();
  const stop = (why: 'timeout' | 'cancelled'): void => {
    if (exit || end !== 'exited') return;
    end = why;
    // The guest ends everything and reports what was still in the pipes; one that does not answer is killed from outside.
    channel.write(killFrame(constants.signals.SIGKILL));
    after(killGraceMs, killAll);
    if (!started) killAll();
  };
  const onAbort = (): void => stop('cancelled');
  const onStarted = (): void => {
    started = true;
    request.onStart?.();
    if (end === 'exited') after(limits.timeoutMs, () => stop('timeout'));
  };

  channel.cork();
  for (const { path, data } of request.inputs) for (const frame of fileFrames(path, data)) channel.write(frame);
  channel.write(state.waits ? jobFrame(request.env, limits.logBytes) : startFrame(request.argv, request.env, '/sandbox', limits.logBytes));
  // Asked for already: what the program leaves then comes together with its end.
  channel.write(collectFrame('/sandbox/out', limits.artifacts + 1, limits.artifactBytes + limits.outputBytes, limits.artifactBytes));
  channel.uncork();

  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let startTimer: NodeJS.Timeout | undefined;
  if (started) onStarted();
  else
    startTimer = after(startLimitMs, () => {
      stalled = true;
      killAll();
    });
  const collector = createCollector(request);
  let droppedLogBytes = 0;
  let complaint = '';
  let logBytes = 0;
  try {
    for (;;) {
      const { done, value: frame } = await frames.next();
      if (done) break;
      if (started === (frame.type === 'R')) throw new ProtocolViolation('a frame out of order');
      if (frame.type === 'R') {
        clearTimeout(startTimer);
        onStarted();
      } else if (frame.type === 'O' || frame.type === 'E') {
        if (exit || frame.payload.length === 0) throw new ProtocolViolation('output out of order');
        logBytes += frame.payload.length;
        if (logBytes > limits.logBytes) throw new ProtocolViolation('more output than was asked for');
        request.onOutput(frame.type === 'O' ? 'stdout' : 'stderr', frame.payload);
      } else if (frame.type === 'T') droppedLogBytes = Number(frame.payload.readBigUInt64LE(0));
      else if (frame.type === 'Q') {
        if (exit) throw new ProtocolViolation('a second exit');
        exit = parseExit(frame.payload);
        request.onExit?.();
        clearTimers(timers);
        if (end !== 'exited') break;
        after(collectLimitMs, killAll);
      } else if (frame.type === '!') {
        complaint = frame.payload.subarray(4).toString('utf8');
        // One that stood ready and lost its program meanwhile: nothing of the job has run.
        if (state.waits && logBytes === 0 && !exit) throw new LostBeforeStart('sandbox_failed', `The sandbox broke: ${complaint}`);
        throw new ProtocolViolation(complaint);
      } else if (!exit) throw new ProtocolViolation('files before the end of the program');
      else if (await collector.take(frame)) break;
    }
  } catch (error) {
    killAll();
    if (error instanceof BoxError) throw error;
    // A peer that was killed with bytes unread shows as a reset: the same as an end.
    if (!isHangUp(error)) throw new BoxError('sandbox_failed', `The sandbox broke: ${(error as Error).message}`, { cause: error });
  } finally {
    clearTimers(timers);
    signal.removeEventListener('abort', onAbort);
    collector.abandon();
  }

  const outOfMemory = await sandbox.ranOutOfMemory();
  if (!exit && end === 'exited' && !outOfMemory) {
    // A guest that has only closed its channel would live on, and what is around it too.
    killAll();
    const { said, killed } = await sandbox.gone();
    const what = stalled
      ? 'The sandbox did not start in time'
      : started
        ? 'The sandbox ended without a report'
        : 'The sandbox could not be started';
    const message = said ? `${what}: ${said}` : `${what}.`;
    if (!started && !stalled && killed) throw new LostBeforeStart('sandbox_failed', message);
    throw new BoxError('sandbox_failed', message);
  }
  if (exit && end === 'exited' && !collector.complete && !outOfMemory)
    throw new BoxError('sandbox_failed', 'The sandbox ended while its files were collected.');
  return {
    warm: state.started,
    end,
    exitCode: exit && exit.signal === 0 ? exit.code : null,
    signal: exit?.signal ? signalName(exit.signal) : exit ? null : 'SIGKILL',
    outOfMemory,
    output: collector.output,
    problem: collector.problem,
    skipped: collector.skipped,
    droppedLogBytes,
    cpuMs: exit?.cpuMs ?? 0,
    peakMemoryBytes: sandbox.peakMemory() || exit?.peakBytes || 0,
  };
}

interface Collector {
  readonly output: Buffer | null;
  readonly problem: CollectProblem | null;
  readonly skipped: { path: string; kind: string }[];
  readonly complete: boolean;
  /** true when this was the last frame. */
  take(frame: Frame): Promise<boolean>;
  /** Ends a stream that is still open, so that its consumer does not wait for ever. */
  abandon(): void;
}

function createCollector({ limits, onArtifact }: RunRequest): Collector {
  const skipped: { path: string; kind: string }[] = [];
  const seen = new Set<string>();
  let output: Buffer | null = null;
  let problem: CollectProblem | null = null;
  let complete = false;
  let bytes = 0;
  let artifacts = 0;
  let entries = 0;
  let entry: EntryReport | undefined;
  let left = 0;
  let whole: Buffer = Buffer.alloc(0);
  let stream: { through: PassThrough; consumed: Promise<void> } | undefined;

  const begin = async (next: EntryReport): Promise<void> => {
    if (!isPlainPath(next.path)) throw new ProtocolViolation('an entry with an impossible path');
    entries += 1;
    // The guest was told how many it may send; one more says which file was too large.
    if (entries > limits.artifacts + 2) throw new ProtocolViolation('more entries than were asked for');
    const isOutput = next.path === outputName;
    if (next.kind === 'x') {
      problem ??= isOutput ? 'output_too_large' : 'artifact_too_large';
      return;
    }
    // Names that are not text, or are the same once they are, cannot stand in a record.
    if (seen.has(next.path) || !isReadableName(next.path)) {
      skipped.push({ path: next.path.replace(/[^\x20-\x7e]/g, '?'), kind: 'unreadable name' });
      if (next.kind === 'f') entry = { ...next, kind: 'ignored' };
    } else if (!isOutput && !next.path.startsWith(artifactPrefix)) {
      if (next.kind === 'f') entry = { ...next, kind: 'ignored' };
    } else if (next.kind !== 'f') {
      if (isOutput) problem ??= 'output_not_a_file';
      else skipped.push({ path: next.path.slice(artifactPrefix.length), kind: kindNames[next.kind] ?? 'unknown' });
    } else if (isOutput && next.size > limits.outputBytes) {
      problem ??= 'output_too_large';
      entry = { ...next, kind: 'ignored' };
    } else entry = next;
    seen.add(next.path);
    left = entry ? next.size : 0;
    if (entry?.kind === 'f' && !isOutput) {
      artifacts += 1;
      bytes += next.size;
      if (artifacts > limits.artifacts) problem ??= 'too_many_artifacts';
      else if (bytes > limits.artifactBytes) problem ??= 'artifact_too_large';
      if (problem) entry = { ...next, kind: 'ignored' };
      else if (next.size > wholeFileBytes) {
        const through = new PassThrough();
        stream = { through, consumed: onArtifact(next.path.slice(artifactPrefix.length), next.size, through) };
        // Its rejection is awaited when the file is finished; until then it must not count as unhandled.
        stream.consumed.catch(() => undefined);
      }
    }
    if (entry?.kind === 'f' && !stream) whole = Buffer.alloc(next.size);
    if (entry && left === 0) await finish();
  };

  const add = async (chunk: Buffer): Promise<void> => {
    if (!entry || chunk.length > left || chunk.length === 0) throw new ProtocolViolation('data that was not announced');
    if (entry.kind === 'f' && !stream) chunk.copy(whole, whole.length - left);
    left -= chunk.length;
    if (stream) {
      if (!stream.through.write(Buffer.from(chunk))) await Promise.race([drained(stream.through), stream.consumed]);
    }
    if (left === 0) await finish();
  };

  const finish = async (): Promise<void> => {
    const done = entry;
    entry = undefined;
    if (stream) {
      const { through, consumed } = stream;
      stream = undefined;
      through.end();
      await consumed;
    } else if (done?.kind === 'f') {
      if (done.path === outputName) output = whole;
      else await onArtifact(done.path.slice(artifactPrefix.length), done.size, whole);
    }
  };

  return {
    skipped,
    get output() {
      return output;
    },
    get problem() {
      return problem;
    },
    get complete() {
      return complete;
    },
    async take({ type, payload }) {
      if (type === 'N') {
        if (entry) throw new ProtocolViolation('a file shorter than announced');
        await begin(parseEntry(payload));
      } else if (type === 'D') await add(payload);
      else if (type === 'Z') {
        if (entry) throw new ProtocolViolation('a file shorter than announced');
        complete = true;
        if (payload[0] === 1) problem ??= 'too_many_artifacts';
        if (payload[0] === 2) problem ??= 'artifact_too_large';
      } else throw new ProtocolViolation(`an unknown frame ${JSON.stringify(type)}`);
      return complete;
    },
    abandon() {
      stream?.through.destroy(new Error('the sandbox ended'));
    },
  };
}

const kindNames: Record<string, string> = { l: 'symbolic link', p: 'fifo', s: 'socket', d: 'device', '!': 'unreadable' };

/** What a path from inside may look like before it becomes a name in the record. */
function isPlainPath(path: string): boolean {
  return (
    path.length > 0 &&
    path.length < 4096 &&
    !path.startsWith('/') &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

function isReadableName(path: string): boolean {
  return !/[\p{Cc}\ufffd]/u.test(path);
}

function isHangUp(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}

function drained(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
  });
}

function clearTimers(timers: Set<NodeJS.Timeout>): void {
  for (const timer of timers) clearTimeout(timer);
  timers.clear();
}
