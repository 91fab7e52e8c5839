/** What runs in a sandbox, asked of the server; while there is none, of the guest of the sandbox itself, as far as that goes. */

import { BoxError, type Page, type Sandbox } from '@skillbox/protocol';
import { reachGuest, type StandingGuest } from '../sandbox/without-server.ts';
import { type BoxApi, localBox } from './box-api.ts';

export interface InsideProgram {
  readonly program_id: number;
  readonly tag: string;
  readonly ended: boolean;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

export interface Inside {
  /** None where there is no such sandbox, or where it rests. */
  programs(): Promise<readonly InsideProgram[]>;
  /** Nothing, when it has ended. */
  signal(program: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** A short program, to its end. */
  run(argv: readonly string[]): Promise<void>;
}

export interface RunOptions {
  readonly timeoutMs: number;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export interface RunEnd {
  /** null: it took too long, and was ended. */
  readonly exit: number | null;
  readonly output: string;
}

interface ProgramResult {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timed_out: boolean;
}

/** Beyond its own time: for the way there and back. */
const marginMs = 5000;
const shortMs = 5000;

/** Throws unreachable when neither the server nor the sandbox answers. */
export async function askInside<T>(stateRoot: string, sandbox: string, ask: (inside: Inside) => Promise<T>): Promise<T> {
  const api = localBox(stateRoot);
  try {
    if (api) return await ask(byServer(api, sandbox));
  } catch (error) {
    if (!isAway(error)) throw error;
  }
  const guest = await reachGuest(stateRoot, sandbox);
  if (guest !== undefined) return ask(guest === 'gone' ? nothingInside : byGuest(guest));
  throw new BoxError(
    'unreachable',
    `What runs in sandbox ${sandbox} goes on, and only the server of the box can reach it, which does not run.`,
    {
      hint: 'Start the server (skillbox up), then try again.',
    },
  );
}

/** The server that there was a moment ago. One that is only slow is there. */
export const isAway = (error: unknown): boolean =>
  error instanceof BoxError &&
  ['unreachable', 'shutting_down', 'unavailable'].includes(error.code) &&
  (error.cause as Error | undefined)?.name !== 'TimeoutError';

export async function runIn(api: BoxApi, sandbox: string, argv: readonly string[], { timeoutMs, cwd, env }: RunOptions): Promise<RunEnd> {
  const timeout = `${Math.max(1, Math.ceil(timeoutMs))}ms`;
  const body = { argv, timeout, wait: true, ...(cwd !== undefined && { cwd }), ...(env && { env }) };
  const ran = await api.request<ProgramResult>('POST', `/v1/sandboxes/${sandbox}/programs`, body, timeoutMs + marginMs);
  return { exit: ran.timed_out ? null : (ran.exit_code ?? 128), output: ran.stdout + ran.stderr };
}

export function byServer(api: BoxApi, sandbox: string): Inside {
  return {
    async programs() {
      try {
        // To ask what runs in one that is paused would wake it.
        const { state } = await api.request<Sandbox>('GET', `/v1/sandboxes/${sandbox}`);
        return state === 'ready' ? (await api.request<Page<InsideProgram>>('GET', `/v1/sandboxes/${sandbox}/programs`)).items : [];
      } catch (error) {
        if (error instanceof BoxError && error.code === 'not_found') return [];
        throw error;
      }
    },
    async signal(program, signal) {
      try {
        await api.request('POST', `/v1/sandboxes/${sandbox}/programs/${program}/signal`, { signal });
      } catch (error) {
        // It ended between the look and the signal.
        if (!(error instanceof BoxError) || (error.code !== 'already_finished' && error.code !== 'not_found')) throw error;
      }
    },
    async run(argv) {
      await runIn(api, sandbox, argv, { timeoutMs: shortMs });
    },
  };
}

function byGuest(guest: StandingGuest): Inside {
  return {
    programs: async () =>
      (await guest.programs()).map(({ id, tag, ended, exitCode, signal }) => ({ program_id: id, tag, ended, exit_code: exitCode, signal })),
    async signal(program, signal) {
      try {
        await guest.signal(program, signal);
      } catch (error) {
        // It ended between the look and the signal.
        if (!(error instanceof BoxError) || error.code !== 'not_found') throw error;
      }
    },
    async run(argv) {
      await guest.run(argv, shortMs);
    },
  };
}

const nothingInside: Inside = {
  programs: async () => [],
  signal: async () => undefined,
  run: async () => undefined,
};
