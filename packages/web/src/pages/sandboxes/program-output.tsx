/** What one program writes, as it comes; and a line for its stdin. */

import type { ProgramOutput as OutputEvent, SandboxHandle } from '@skillbox/sdk';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { type Failure, failureOf, useBox } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { Button } from '../../parts/button.tsx';
import { LogLines } from '../../parts/log-lines.ts';
import { LogView } from '../../parts/log-view.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { complain } from '../../parts/toasts.tsx';

interface Props {
  readonly sandbox: SandboxHandle;
  readonly program: number;
  readonly running: boolean;
  onEnded(): void;
  onClose(): void;
}

/** Shown together: a program that writes a lot is not drawn for each piece. */
const drawMs = 60;

export function ProgramOutput({ sandbox, program, running, onEnded, onClose }: Props) {
  const { may } = useBox();
  const [log] = useState(() => new LogLines());
  const [version, setVersion] = useState(0);
  const [live, setLive] = useState(true);
  const [failure, setFailure] = useState<Failure>();
  const ended = useRef(onEnded);
  ended.current = onEnded;

  // biome-ignore lint/correctness/useExhaustiveDependencies: one program, one stream; the handle is made anew each time.
  useEffect(() => {
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        setVersion(log.version);
      }, drawMs);
    };
    const read = async (): Promise<void> => {
      const append = appender(log);
      for await (const event of sandbox.program(program).output({ signal: end.signal })) {
        append(event);
        draw();
      }
      setLive(false);
      ended.current();
    };
    read().catch((error: unknown) => {
      if (end.signal.aborted) return;
      noteFailure(error);
      setFailure(failureOf(error));
      setLive(false);
    });
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [program]);

  return (
    <section className="program-output" aria-label={`Output of program ${program}`}>
      <div className="files-bar">
        <h2>Program {program}</h2>
        <Button kind="quiet" icon="close" label="Close the output" onClick={onClose} />
      </div>
      <FailureNote failure={failure} />
      <LogView log={log} version={version} live={live} label={`Output of program ${program}`} />
      {running && live && may('sandboxes:use') && <StdinLine sandbox={sandbox} program={program} />}
    </section>
  );
}

function appender(log: LogLines): (event: OutputEvent) => void {
  const decoder = new TextDecoder();
  return ({ event, data }) => {
    if (event === 'end') {
      const how = data.exit_code === null || data.exit_code === undefined ? `ended by ${data.signal}` : `ended with ${data.exit_code}`;
      log.append(`${how}\n`, 'status');
    } else if (event === 'lost') log.append('what came before is no longer kept\n', 'status');
    else if (data.text !== undefined) log.append(data.text, event === 'stderr' ? 'stderr' : 'stdout');
    else if (data.base64 !== undefined) log.append(decoder.decode(bytesOf(data.base64), { stream: true }), 'stdout');
  };
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

function StdinLine({ sandbox, program }: Pick<Props, 'sandbox' | 'program'>) {
  const [line, setLine] = useState('');
  const handle = sandbox.program(program);
  const act = (work: Promise<unknown>): void =>
    void work.catch((error: unknown) => {
      noteFailure(error);
      complain(failureOf(error));
    });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    act(handle.write(`${line}\n`));
    setLine('');
  };
  return (
    <form className="run-line" onSubmit={submit}>
      <input
        className="input mono"
        aria-label="A line for its stdin"
        placeholder="A line for its stdin"
        autoComplete="off"
        spellCheck={false}
        value={line}
        onChange={(event) => setLine(event.target.value)}
      />
      <Button type="submit">Send</Button>
      <Button label="Its stdin ends" onClick={() => act(handle.closeStdin())}>
        End
      </Button>
    </form>
  );
}
