/** What can be done to a sandbox as a whole. */

import type { Sandbox, SandboxHandle } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { failureOf, useBox } from '../../box/box.ts';
import { noteFailure } from '../../box/reachable.ts';
import { useAct } from '../../box/use-act.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Menu, type MenuItem } from '../../parts/menu.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { complain, say } from '../../parts/toasts.tsx';
import { ForkDialog, SnapshotDialog } from './disk-dialogs.tsx';

type Asked = 'extend' | 'snapshot' | 'fork' | 'recreate' | 'destroy';

interface Props {
  readonly sandbox: Sandbox;
  /** Told before it is paused, and when that went wrong. */
  onPausing(now: boolean): void;
  onDone(): void;
}

export function Actions({ sandbox, onPausing, onDone }: Props) {
  const { client } = useBox();
  const handle = client.sandbox(sandbox.id);
  const [asked, setAsked] = useState<Asked>();
  const close = (): void => setAsked(undefined);
  const lives = sandbox.state === 'ready' || sandbox.state === 'paused';
  const ended = sandbox.ended_at !== null;

  /** Without a dialog to stand in, a failure is told in the corner. */
  const actPlainly = async (work: (handle: SandboxHandle) => Promise<unknown>, done: string): Promise<void> => {
    try {
      await work(handle);
      say(done);
      onDone();
    } catch (error) {
      onPausing(false);
      noteFailure(error);
      complain(failureOf(error));
    }
  };
  const pause = (): void => {
    onPausing(true);
    void actPlainly((each) => each.pause(), 'Paused.');
  };
  const act = useAct(async (work: (handle: SandboxHandle) => Promise<unknown>, done: string) => {
    await work(handle);
    say(done);
    close();
    onDone();
  });

  const items: MenuItem[] = [
    ...(lives ? [{ title: 'Take a snapshot', icon: 'copy', act: () => setAsked('snapshot') } as const] : []),
    ...(lives ? [{ title: 'Fork', icon: 'branch', act: () => setAsked('fork') } as const] : []),
    ...(lives || ended ? [{ title: 'Recreate', icon: 'refresh', act: () => setAsked('recreate') } as const] : []),
    ...(ended ? [] : [{ title: 'Destroy', icon: 'trash', act: () => setAsked('destroy') } as const]),
  ];
  return (
    <div className="filters">
      {lives && (
        <Button icon="clock" onClick={() => setAsked('extend')}>
          Extend
        </Button>
      )}
      {sandbox.state === 'ready' && (
        <Button icon="pause" onClick={pause}>
          Pause
        </Button>
      )}
      {sandbox.state === 'paused' && (
        <Button icon="play" onClick={() => void actPlainly((each) => each.resume(), 'Ready again.')}>
          Resume
        </Button>
      )}
      <Menu title="More" items={items} />
      {asked === 'extend' && <ExtendDialog sandbox={sandbox} onClose={close} onDone={onDone} />}
      {asked === 'snapshot' && <SnapshotDialog id={sandbox.id} onClose={close} />}
      {asked === 'fork' && <ForkDialog id={sandbox.id} onClose={close} />}
      {asked === 'recreate' && (
        <Confirm
          title="Recreate this sandbox?"
          verb="Recreate"
          busy={act.busy}
          onClose={close}
          onConfirm={() => void act.run((each) => each.recreate({ timeoutMs: 0 }), 'It has a fresh disk.')}
        >
          <p>It gets a fresh disk under the same id, and its time starts again. What runs in it ends, and what is on its disk is lost.</p>
          <FailureNote failure={act.failure} />
        </Confirm>
      )}
      {asked === 'destroy' && (
        <Confirm
          title="Destroy this sandbox?"
          verb="Destroy"
          busy={act.busy}
          onClose={close}
          onConfirm={() => void act.run((each) => each.destroy(), 'Destroyed.')}
        >
          <p>
            What runs in <code>{sandbox.id}</code> ends, and its disk is removed. Its snapshots stay.
          </p>
          <FailureNote failure={act.failure} />
        </Confirm>
      )}
    </div>
  );
}

const spans = ['15m', '1h', '4h', '12h', '24h'] as const;

function ExtendDialog({ sandbox, onClose, onDone }: { readonly sandbox: Sandbox; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [ttl, setTtl] = useState('1h');
  const extend = useAct(async (text: string) => {
    await client.sandbox(sandbox.id).setTtl(text);
    say(`It ends in ${text}.`);
    onDone();
    onClose();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void extend.run(ttl.trim());
  };
  return (
    <Dialog title="How long it lives from now" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="choice" role="group" aria-label="Time">
          {spans.map((span) => (
            <button key={span} type="button" aria-pressed={span === ttl} onClick={() => setTtl(span)}>
              {span}
            </button>
          ))}
        </div>
        <Field
          label="Time"
          hint={`Such as 90s or 2h. Then it is ${sandbox.on_expiry === 'pause' ? 'paused' : 'destroyed'}. Its template sets the maximum.`}
        >
          {(control) => <input {...control} className="input" value={ttl} onChange={(event) => setTtl(event.target.value)} />}
        </Field>
        <FailureNote failure={extend.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="main" busy={extend.busy} disabled={ttl.trim() === ''}>
            Set
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
