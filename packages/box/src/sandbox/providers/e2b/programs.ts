/**
 * Programs over the E2B protocol. It repeats no output, so what a program says is followed and kept here for those who join;
 * after a restart of the server what was said before is lost, and an end meanwhile is not learnt.
 */

import { BoxError } from '@skillbox/protocol';
import type { Program, ProgramEvent, ProgramInfo, ProgramSpec } from '../../living.ts';
import { type Json, type Session, stream, unary } from './client.ts';

export interface Programs {
  start(spec: ProgramSpec): Promise<Program>;
  join(id: number, after: number): Promise<Program>;
  list(): Promise<ProgramInfo[]>;
  signal(id: number, signal: number): Promise<void>;
  /** Forgets what it knows of them: nothing runs any more. */
  reset(): void;
}

/** Output of one program that is kept for who joins. */
const keptBytes = 2 ** 20;
const keptEnded = 100;
const service = 'process.Process';
const signalNames: Record<number, string> = { 9: 'SIGNAL_SIGKILL', 15: 'SIGNAL_SIGTERM' };

interface Followed {
  readonly spec: Pick<ProgramSpec, 'id' | 'argv' | 'cwd' | 'tag'>;
  readonly pty: boolean;
  readonly startedAt: number;
  pid: number;
  events: Exclude<ProgramEvent, { type: 'lost' }>[];
  bytes: number;
  last: number;
  end?: Extract<ProgramEvent, { type: 'end' }>;
  failure?: unknown;
  /** The number up to which each listener has read. */
  readonly readers: Set<{ at: number }>;
  wake: () => void;
  changed: Promise<void>;
}

export function createPrograms(session: () => Promise<Session>): Programs {
  const known = new Map<number, Followed>();

  const follow = async (
    method: 'Start' | 'Connect',
    message: Json,
    program: Pick<Followed, 'spec' | 'pty' | 'startedAt' | 'last'>,
  ): Promise<Followed> => {
    const followed: Followed = {
      ...program,
      pid: 0,
      events: [],
      bytes: 0,
      readers: new Set(),
      wake: () => undefined,
      changed: Promise.resolve(),
    };
    renew(followed);
    const messages = stream(await session(), `${service}/${method}`, message, new AbortController().signal);
    const first = await messages.next();
    const started = first.done ? undefined : ((first.value.event as Json | undefined)?.start as Json | undefined);
    if (!started) throw new BoxError('sandbox_failed', 'The E2B server did not say that the program started.');
    followed.pid = Number(started.pid);
    known.set(program.spec.id, followed);
    void record(followed, messages);
    return followed;
  };

  const attach = (followed: Followed, after: number): Program => {
    const { id } = followed.spec;
    const selected = { process: { pid: followed.pid } };
    const reader = { at: after };
    let detached = false;
    followed.readers.add(reader);
    const leave = (): void => {
      detached = true;
      followed.readers.delete(reader);
      notify(followed);
    };
    async function* events(): AsyncGenerator<ProgramEvent> {
      try {
        for (;;) {
          if (detached) throw new BoxError('unavailable', 'Nobody listens any more.');
          const next = followed.events.find(({ number }) => number > reader.at);
          if (next) {
            if (next.number > reader.at + 1) yield { type: 'lost', before: next.number };
            reader.at = next.number;
            yield next;
            notify(followed);
            if (next.type === 'end') return;
          } else if (followed.failure) throw followed.failure;
          else await followed.changed;
        }
      } finally {
        leave();
      }
    }
    const tell = async (method: string, more: Json = {}): Promise<void> => {
      await unary(await session(), `${service}/${method}`, { ...selected, ...more });
    };
    return {
      ...{ id, pid: followed.pid, events: events(), detach: leave },
      write: (bytes) => tell('SendInput', { input: { [followed.pty ? 'pty' : 'stdin']: bytes.toString('base64') } }),
      closeStdin: () => tell('CloseStdin'),
      resize: (cols, rows) => tell('Update', { pty: { size: { cols, rows } } }),
    };
  };

  const running = async (): Promise<ProgramInfo[]> => {
    const { processes } = (await unary(await session(), `${service}/List`, {})) as { processes?: Json[] };
    return (processes ?? []).flatMap((entry) => describe(entry, known));
  };

  return {
    async start(spec) {
      const { id, argv, cwd, env, pty, stdin, tag } = spec;
      const [cmd = '', ...args] = argv;
      const message = {
        process: { cmd, args, envs: env, cwd },
        ...{ stdin, tag: `${id}:${tag ?? ''}` },
        ...(pty && { pty: { size: { cols: pty.columns, rows: pty.rows } } }),
      };
      return attach(await follow('Start', message, { spec, pty: pty !== undefined, startedAt: Date.now(), last: 0 }), 0);
    },
    async join(id, after) {
      const here = known.get(id);
      if (here) return attach(here, after);
      const there = (await running()).find((program) => program.id === id);
      if (!there) throw new BoxError('not_found', `There is no program ${id}.`);
      // One number is left out, which says that something may be missing.
      const program = { spec: there, pty: false, startedAt: there.startedAt, last: after + 1 };
      return attach(await follow('Connect', { process: { pid: there.pid } }, program), after);
    },
    async list() {
      const now = await running();
      const ended = [...known.values()].filter(({ end }) => end !== undefined).map(describeEnded);
      return [...ended, ...now.filter(({ id }) => !known.get(id)?.end)];
    },
    async signal(id, signal) {
      const name = signalNames[signal];
      if (!name) throw new BoxError('bad_request', 'The E2B protocol has only the signals SIGTERM and SIGKILL.');
      const pid = known.get(id)?.pid ?? (await running()).find((program) => program.id === id)?.pid;
      if (pid === undefined) throw new BoxError('not_found', `There is no program ${id}.`);
      await unary(await session(), `${service}/SendSignal`, { process: { pid }, signal: name });
    },
    reset() {
      for (const followed of known.values()) {
        followed.failure ??= new BoxError('unavailable', 'The sandbox went away.');
        notify(followed);
      }
      known.clear();
    },
  };

  async function record(followed: Followed, messages: AsyncGenerator<Json>): Promise<void> {
    try {
      for await (const { event } of messages) {
        const { data, end } = (event ?? {}) as { data?: Record<string, string>; end?: Json };
        for (const [type, text] of Object.entries(data ?? {})) {
          if (type !== 'stdout' && type !== 'stderr' && type !== 'pty') continue;
          followed.last += 1;
          const bytes = Buffer.from(text, 'base64');
          followed.bytes += bytes.length;
          followed.events.push({ type, number: followed.last, bytes });
          await makeRoom(followed);
        }
        if (end) {
          followed.last += 1;
          followed.end = parseEnd(followed.last, end);
          followed.events.push(followed.end);
        }
        notify(followed);
      }
      if (!followed.end) followed.failure = new BoxError('unavailable', 'The sandbox went away.');
    } catch (error) {
      if (!followed.end) followed.failure = error;
    }
    notify(followed);
    if (!followed.end) known.delete(followed.spec.id);
    const ended = [...known.values()].filter(({ end }) => end !== undefined);
    for (const old of ended.slice(0, Math.max(0, ended.length - keptEnded))) known.delete(old.spec.id);
  }
}

/** Who listens is waited for; what nobody waits for gives way to what is new. */
async function makeRoom(followed: Followed): Promise<void> {
  while (followed.bytes > keptBytes) {
    const [oldest] = followed.events;
    if (!oldest || followed.events.length === 1) return;
    if ([...followed.readers].some(({ at }) => at < oldest.number)) {
      notify(followed);
      await followed.changed;
      continue;
    }
    followed.events.shift();
    followed.bytes -= oldest.type === 'end' ? 0 : oldest.bytes.length;
  }
}

function renew(followed: Followed): void {
  followed.changed = new Promise((resolve) => {
    followed.wake = resolve;
  });
}

function notify(followed: Followed): void {
  const { wake } = followed;
  renew(followed);
  wake();
}

const signalWords: Record<string, string> = {
  killed: 'SIGKILL',
  terminated: 'SIGTERM',
  interrupt: 'SIGINT',
  hangup: 'SIGHUP',
  'segmentation fault': 'SIGSEGV',
  aborted: 'SIGABRT',
  'broken pipe': 'SIGPIPE',
};

function parseEnd(number: number, { exitCode, status }: Json): Extract<ProgramEvent, { type: 'end' }> {
  const word = /^signal: (.+)$/.exec(String(status ?? ''))?.[1];
  if (word === undefined) return { type: 'end', number, exitCode: Number(exitCode ?? 0), signal: null };
  return { type: 'end', number, exitCode: null, signal: signalWords[word] ?? `SIG${word.toUpperCase()}` };
}

/** Ours have their number in the tag; others are not shown. */
function describe({ config, pid, tag }: Json, known: ReadonlyMap<number, Followed>): ProgramInfo[] {
  const [, number, own = ''] = /^(\d+):(.*)$/s.exec(String(tag ?? '')) ?? [];
  if (!number) return [];
  const id = Number(number);
  const { args = [], cmd = '', cwd = '' } = (config ?? {}) as { args?: string[]; cmd?: string; cwd?: string };
  const { last = 0, startedAt = 0 } = known.get(id) ?? {};
  return [
    { id, pid: Number(pid), argv: [cmd, ...args], cwd, tag: own, startedAt, ended: false, exitCode: null, signal: null, lastNumber: last },
  ];
}

function describeEnded({ end, last, pid, spec, startedAt }: Followed): ProgramInfo {
  const { argv, cwd, id, tag = '' } = spec;
  return {
    id,
    pid,
    argv,
    cwd,
    tag,
    startedAt,
    ended: true,
    exitCode: end?.exitCode ?? null,
    signal: end?.signal ?? null,
    lastNumber: last,
  };
}
