import { type FormEvent, type ReactNode, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';

interface Props {
  readonly id: string;
  onClose(): void;
  onDone?(): void;
}

export function SnapshotDialog({ id, onClose, onDone }: Props) {
  const { client } = useBox();
  const [name, setName] = useState('');
  const take = useAct(async () => {
    const { id: made } = await client.sandbox(id).snapshot(name.trim() === '' ? undefined : name.trim(), { timeoutMs: 0 });
    say(`Took ${made}.`);
    onDone?.();
    onClose();
  });
  return (
    <Small title="Take a snapshot" verb="Take it" act={take} onClose={onClose}>
      <p>Keeps the disk as it is now, not the memory. Others can start from it, and it can be put back.</p>
      <Field label="Name (optional)" hint="What it is, for people">
        {(control) => (
          <input {...control} className="input" maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
    </Small>
  );
}

export function ForkDialog({ id, onClose, onDone }: Props) {
  const { client } = useBox();
  const [count, setCount] = useState('1');
  const fork = useAct(async () => {
    const made = await client.sandbox(id).fork({ count: Number(count) }, { timeoutMs: 0 });
    say(made.length === 1 ? `Made ${made[0]?.id}.` : `Made ${made.length} forks.`);
    onDone?.();
    onClose();
  });
  return (
    <Small title="Fork this sandbox" verb="Fork" act={fork} onClose={onClose}>
      <p>Makes sandboxes that start from its disk, with the same template, labels and variables: all of them or none.</p>
      <Field label="How many">
        {(control) => (
          <input
            {...control}
            className="input"
            type="number"
            min={1}
            max={32}
            required
            value={count}
            onChange={(event) => setCount(event.target.value)}
          />
        )}
      </Field>
    </Small>
  );
}

interface SmallProps {
  readonly title: string;
  readonly verb: string;
  readonly act: ReturnType<typeof useAct<[]>>;
  readonly children: ReactNode;
  onClose(): void;
}

function Small({ title, verb, act, children, onClose }: SmallProps) {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void act.run();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {children}
        <FailureNote failure={act.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" busy={act.busy}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
