/** The same skill once more, with what should be different. */

import type { ExecutionResult } from '@skillbox/sdk';
import { type FormEvent, useId, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { navigate } from '../../router.tsx';

export function RunAgain({ record, onClose }: { readonly record: ExecutionResult; onClose(): void }) {
  const { client } = useBox();
  const id = useId();
  const [input, setInput] = useState(() => JSON.stringify(record.input ?? {}, null, 2));
  const [version, setVersion] = useState(record.skill_version);
  const [timeout, setTimeout] = useState('');
  const problem = problemOf(input);
  const start = useAct(async () => {
    const started = await client.executions.submit({
      ...{ skill: record.skill_name, version, input: JSON.parse(input) as unknown },
      ...(timeout !== '' && { timeout }),
    });
    onClose();
    navigate(`/executions/${started.execution_id}`);
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!problem) void start.run();
  };
  return (
    <Dialog title={`Run ${record.skill_name} again`} onClose={onClose}>
      <form className="run-again" onSubmit={submit}>
        <div className="field">
          <label htmlFor={`${id}-input`}>Input, as JSON</label>
          <textarea
            id={`${id}-input`}
            className="input code"
            rows={12}
            spellCheck={false}
            value={input}
            aria-invalid={problem !== undefined}
            onChange={(event) => setInput(event.target.value)}
          />
          {problem && <span className="problem">{problem}</span>}
        </div>
        <div className="pair">
          <div className="field">
            <label htmlFor={`${id}-version`}>Version</label>
            <input id={`${id}-version`} className="input" value={version} onChange={(event) => setVersion(event.target.value)} />
          </div>
          <div className="field">
            <label htmlFor={`${id}-timeout`}>Time limit</label>
            <input
              id={`${id}-timeout`}
              className="input"
              placeholder="as the skill says, or 90s"
              value={timeout}
              onChange={(event) => setTimeout(event.target.value)}
            />
          </div>
        </div>
        <p className="hint">Variables and files that were sent along are not kept, and so are not sent again.</p>
        <FailureNote failure={start.failure} />
        <footer>
          <Button onClick={onClose}>Leave it</Button>
          <Button kind="main" type="submit" icon="play" busy={start.busy} disabled={problem !== undefined}>
            Run
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function problemOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}`;
  }
}
