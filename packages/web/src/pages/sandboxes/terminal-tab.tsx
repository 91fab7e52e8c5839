/** A terminal in the sandbox. Its program goes on when the connection breaks, and the tab returns to it; its number is in the address. */

import type { SandboxHandle, Terminal } from '@skillbox/sdk';
import { APIError } from '@skillbox/sdk';
import { useEffect, useRef, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { isAway, noteFailure } from '../../box/reachable.ts';
import { Button } from '../../parts/button.tsx';
import { useQuery } from '../../router.tsx';
import { useTheme } from '../../shell/theme.ts';
import { openScreen, type Screen } from './screen.ts';

type State =
  | { readonly at: 'connecting' }
  | { readonly at: 'open'; readonly program: number }
  | { readonly at: 'broken'; readonly why: string }
  | { readonly at: 'ended'; readonly how: string };

const pauses = [300, 1000, 2000, 5000] as const;

export default function TerminalTab({ id }: { readonly id: string }) {
  const { client } = useBox();
  const [query, change] = useQuery();
  const [state, setState] = useState<State>({ at: 'connecting' });
  /** Grows with each new shell that is asked for. */
  const [turn, setTurn] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen>(undefined);
  const wanted = useRef(Number(query.get('program')) || undefined);
  const theme = useTheme();

  // biome-ignore lint/correctness/useExhaustiveDependencies: the turn stands for "another one".
  useEffect(() => {
    if (!place.current) return;
    const end = new AbortController();
    let terminal: Terminal | undefined;
    const shown = openScreen(place.current, {
      onInput: (data) => terminal?.write(data),
      onSize: (cols, rows) => terminal?.resize(cols, rows),
    });
    screen.current = shown;
    const observer = new ResizeObserver(() => shown.fit());
    observer.observe(place.current);
    const heard = {
      onTerminal(next: Terminal | undefined) {
        terminal = next;
        if (!next) return;
        wanted.current = next.program;
        change({ program: String(next.program) });
        next.resize(shown.cols, shown.rows);
        shown.focus();
      },
      onState: setState,
    };
    void converse(client.sandbox(id), shown, wanted.current, heard, end.signal);
    return () => {
      end.abort();
      observer.disconnect();
      terminal?.close();
      shown.dispose();
    };
  }, [client, id, turn]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: other colours, painted anew.
  useEffect(() => screen.current?.paint(), [theme]);

  const another = (): void => {
    wanted.current = undefined;
    change({ program: '' });
    setTurn((before) => before + 1);
  };
  return (
    <div className="terminal">
      <div className="terminal-bar">
        <span className={`terminal-state ${state.at}`} role="status">
          {textOf(state)}
        </span>
        <Button kind="quiet" icon="plus" onClick={another}>
          New shell
        </Button>
      </div>
      <div className="terminal-screen" ref={place} />
    </div>
  );
}

function textOf(state: State): string {
  if (state.at === 'open') return `Connected, program ${state.program}`;
  if (state.at === 'connecting') return 'Connecting …';
  return state.at === 'broken' ? `The connection broke, trying again: ${state.why}` : state.how;
}

interface Heard {
  onTerminal(terminal: Terminal | undefined): void;
  onState(state: State): void;
}

/** Until the program has ended or nobody looks any more. */
async function converse(
  sandbox: SandboxHandle,
  screen: Screen,
  first: number | undefined,
  heard: Heard,
  signal: AbortSignal,
): Promise<void> {
  let program = first;
  for (let failures = 0; !signal.aborted; ) {
    heard.onState({ at: 'connecting' });
    try {
      if (program !== undefined && !(await isThere(sandbox, program, signal))) program = undefined;
      // What the program has written comes again from the beginning, as far as it is kept.
      screen.reset();
      const terminal = await sandbox.pty({
        ...{ cols: screen.cols, rows: screen.rows, onData: (bytes) => !signal.aborted && screen.write(bytes) },
        ...(program !== undefined && { program }),
      });
      if (signal.aborted) return terminal.close();
      program = terminal.program;
      failures = 0;
      heard.onTerminal(terminal);
      heard.onState({ at: 'open', program });
      const { code, signal: by } = await terminal.exited;
      const how = `Program ${program} ended ${code === null ? `by ${by}` : `with ${code}`}`;
      heard.onTerminal(undefined);
      screen.note(how);
      return heard.onState({ at: 'ended', how });
    } catch (error) {
      if (signal.aborted) return;
      heard.onTerminal(undefined);
      // A socket does not say why it was refused; the box does, when it is asked.
      const known = error instanceof APIError ? error : await refusal(sandbox, signal);
      if (signal.aborted) return;
      if (known) return heard.onState({ at: 'ended', how: known.message });
      noteFailure(error);
      heard.onState({ at: 'broken', why: isAway(error) ? 'the box does not answer' : (error as Error).message });
      await new Promise((resolve) => setTimeout(resolve, pauses[Math.min(failures, pauses.length - 1)]));
      failures += 1;
    }
  }
}

/** Whether there is such a program to return to; one that has ended shows what it wrote. */
async function isThere(sandbox: SandboxHandle, program: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sandbox.program(program).get({ signal });
    return true;
  } catch (error) {
    if (error instanceof APIError && error.status === 404) return false;
    throw error;
  }
}

/** Why no terminal can be had; undefined when it may go well the next time. */
async function refusal(sandbox: SandboxHandle, signal: AbortSignal): Promise<{ readonly message: string } | undefined> {
  try {
    const { state, reason } = await sandbox.get({ signal });
    return state === 'ready' ? undefined : { message: `The sandbox is ${state}${reason ? `: ${reason}` : ''}` };
  } catch (error) {
    return error instanceof APIError ? error : undefined;
  }
}
