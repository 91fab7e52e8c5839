import { type ReactNode, useId } from 'react';

/** A labelled control, with a hint or what is wrong with it. */
export function Field(props: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
  children(id: string): ReactNode;
}) {
  const { label, hint, problem, children } = props;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {problem ? <span className="problem">{problem}</span> : hint && <span className="hint">{hint}</span>}
    </div>
  );
}
