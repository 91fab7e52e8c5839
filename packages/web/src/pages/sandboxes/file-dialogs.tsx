import type { FileEntry, SandboxHandle } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useAct } from '../../box/use-act.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { nameOf, nameProblem } from './paths.ts';
import { plainName } from './plain-name.ts';

interface NameProps {
  readonly title: string;
  readonly verb: string;
  readonly first?: string;
  act(name: string): Promise<unknown>;
  onDone(name: string): void;
  onClose(): void;
}

export function NameDialog({ title, verb, first = '', act, onDone, onClose }: NameProps) {
  const [name, setName] = useState(first);
  const work = useAct(act);
  const problem = nameProblem(name);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (problem === undefined && (await work.run(name))) onDone(name);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        <Field label="Name" problem={name === '' ? undefined : problem}>
          {(control) => (
            <input
              {...control}
              className="input"
              autoComplete="off"
              spellCheck={false}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <FailureNote failure={work.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" busy={work.busy} disabled={problem !== undefined || name === first}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface RemoveProps {
  readonly files: SandboxHandle['files'];
  readonly entry: FileEntry;
  onDone(): void;
  onClose(): void;
}

export function RemoveDialog({ files, entry, onDone, onClose }: RemoveProps) {
  const remove = useAct(() => files.remove(entry.path));
  const confirm = async (): Promise<void> => {
    if (await remove.run()) onDone();
  };
  return (
    <Confirm title="Remove it?" verb="Remove" busy={remove.busy} onClose={onClose} onConfirm={() => void confirm()}>
      <p>
        <code className="any-name">{plainName(nameOf(entry.path))}</code>{' '}
        {entry.kind === 'directory' ? 'goes with everything in it.' : 'is gone then.'}
      </p>
      <FailureNote failure={remove.failure} />
    </Confirm>
  );
}

export function ReplaceDialog({ names, onConfirm, onClose }: { readonly names: readonly string[]; onConfirm(): void; onClose(): void }) {
  return (
    <Confirm
      title={names.length === 1 ? 'Replace it?' : `Replace ${names.length} files?`}
      verb="Replace"
      onClose={onClose}
      onConfirm={onConfirm}
    >
      <p>There already:</p>
      <ul>
        {names.slice(0, 10).map((name) => (
          <li key={name}>
            <code className="any-name">{plainName(name)}</code>
          </li>
        ))}
      </ul>
      {names.length > 10 && <p>and {names.length - 10} more</p>}
    </Confirm>
  );
}
