/** What a page shows when it has nothing yet, nothing at all, or a failure. */

import type { ReactNode } from 'react';
import type { Failure } from '../box/box.ts';
import type { Loaded } from '../box/use-load.ts';
import { Button } from './button.tsx';
import { CommandLine, CopyButton } from './copy.tsx';
import { Icon, type IconName } from './icon.tsx';

export function Loading({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="skeleton" />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly icon?: IconName;
  /** The next thing to type. */
  readonly command?: string;
  readonly children?: ReactNode;
  readonly small?: boolean;
}

export function Empty({ title, icon, command, children, small = false }: EmptyProps) {
  return (
    <div className={small ? 'state small' : 'state'}>
      {icon && <Icon name={icon} />}
      <h2>{title}</h2>
      {children}
      {command && <CommandLine text={command} />}
    </div>
  );
}

export function FailureState({ failure, retry, small = false }: { readonly failure: Failure; retry?(): void; readonly small?: boolean }) {
  const away = failure.code === 'unreachable' || failure.code === 'timed_out';
  return (
    <div className={small ? 'state failure small' : 'state failure'} role="alert">
      <Icon name="warning" />
      <h2>{away ? 'The box does not answer' : failure.message}</h2>
      {away && <p>This page goes on by itself when it is back.</p>}
      {failure.hint && !away && <p>{failure.hint}</p>}
      {away && <CommandLine text="skillbox up" />}
      <RequestId id={failure.requestId} />
      {retry && !away && (
        <Button icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A failure beside what it is about, such as a form. */
export function FailureNote({ failure }: { readonly failure: Failure | undefined }) {
  if (!failure) return null;
  return (
    <div className="problem-box" role="alert">
      {failure.message}
      {failure.hint && <small>{failure.hint}</small>}
      <RequestId id={failure.requestId} />
    </div>
  );
}

function RequestId({ id }: { readonly id: string | undefined }) {
  if (id === undefined) return null;
  return (
    <span className="request-id">
      Request <code>{id}</code> <CopyButton text={id} label="Copy the request id" />
    </span>
  );
}

/** What was loaded, or the state that stands for it. */
export function Show<T>({ of, rows, children }: { readonly of: Loaded<T>; readonly rows?: number; children(data: T): ReactNode }) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.failure) return <FailureState failure={of.failure} retry={of.reload} />;
  return <Loading {...(rows !== undefined && { rows })} />;
}
