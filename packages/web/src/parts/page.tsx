/** The frame of a page: a head with title and actions, and below it what it is about. */

import { type ReactNode, useEffect } from 'react';

interface Props {
  readonly title: string;
  /** Beside the title: crumbs before it, badges after it. */
  readonly before?: ReactNode;
  readonly after?: ReactNode;
  readonly actions?: ReactNode;
  /** The body has no margin and scrolls by itself: for lists and terminals. */
  readonly full?: boolean;
  readonly children: ReactNode;
}

export function Page({ title, before, after, actions, full = false, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Skillbox`;
  }, [title]);
  return (
    <div className="page">
      <header>
        <div className="title">
          {before}
          <h1>{title}</h1>
          {after}
        </div>
        {actions}
      </header>
      <div className={full ? 'body full' : 'body'}>{children}</div>
    </div>
  );
}

export function Card({ title, actions, children }: { readonly title: string; readonly actions?: ReactNode; readonly children: ReactNode }) {
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

export function Facts({ of }: { readonly of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {of.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  );
}
