import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useAct } from '../box/use-act.ts';
import { Button } from './button.tsx';
import { FailureNote } from './states.tsx';

/** Over the page, until it is closed with Escape, the cross or what is in it. */
export function Dialog({ title, onClose, children }: { readonly title: string; onClose(): void; readonly children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} className="dialog" aria-labelledby={id} onClose={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={() => element.current?.close()} />
      </header>
      <div className="inside">{children}</div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** What will be done, in a word. */
  readonly verb: string;
  readonly busy?: boolean;
  readonly children: ReactNode;
  onConfirm(): void;
  onClose(): void;
}

/** Before what cannot be undone. */
export function Confirm({ title, verb, busy = false, children, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <footer>
        <Button onClick={onClose}>Keep it</Button>
        <Button kind="danger" busy={busy} onClick={onConfirm}>
          {verb}
        </Button>
      </footer>
    </Dialog>
  );
}

interface ConfirmActProps extends Omit<ConfirmProps, 'busy' | 'onConfirm'> {
  /** Done when confirmed; what went wrong is shown in the dialog, which stays then. */
  act(): Promise<unknown>;
}

/** The same, and does it. */
export function ConfirmAct({ act, children, ...rest }: ConfirmActProps) {
  const doing = useAct(act);
  return (
    <Confirm {...rest} busy={doing.busy} onConfirm={() => void doing.run()}>
      {children}
      <FailureNote failure={doing.failure} />
    </Confirm>
  );
}
