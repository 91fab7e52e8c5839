/**
 * Long work on the box that somebody began here: it goes on, and is told of, whichever page is looked at. It ends when this tab is left:
 * the box interrupts what nobody waits for.
 */

import type { WorkProgress, WorkStep } from '@skillbox/sdk';
import { useSyncExternalStore } from 'react';
import { type Failure, failureOf } from './box.ts';
import { noteFailure } from './reachable.ts';

export interface Step extends WorkStep {
  /** When this page heard that it began. */
  readonly since: number;
}

export interface Work {
  readonly id: number;
  readonly title: string;
  readonly since: number;
  readonly until: number | undefined;
  /** What goes on now. */
  readonly line: string;
  /** In the order in which they began. */
  readonly steps: readonly Step[];
  readonly report: unknown;
  readonly failure: Failure | undefined;
}

/** What does it: asked with a callback for its progress, and a signal that ends it. */
export type Doing<R> = (options: { onProgress(progress: WorkProgress): void; signal: AbortSignal }) => Promise<R>;

const listeners = new Set<() => void>();
const ends = new Map<number, AbortController>();
let works: readonly Work[] = [];
let next = 1;

/** Its id. `onEnd`: however it ended. */
export function beginWork<R>(title: string, doing: Doing<R>, onEnd: () => void = () => undefined): number {
  const id = next++;
  const end = new AbortController();
  ends.set(id, end);
  put([...works, { id, title, since: Date.now(), until: undefined, line: '', steps: [], report: undefined, failure: undefined }]);
  doing({ onProgress: (progress) => change(id, (work) => told(work, progress)), signal: end.signal })
    .then((report) => change(id, (work) => ({ ...work, until: Date.now(), report })))
    .catch((error: unknown) => {
      if (end.signal.aborted) return;
      noteFailure(error);
      change(id, (work) => ({ ...work, until: Date.now(), failure: failureOf(error) }));
    })
    .finally(() => {
      ends.delete(id);
      warnBeforeLeaving();
      onEnd();
    });
  warnBeforeLeaving();
  return id;
}

/** It was seen. */
export const forgetWork = (id: number): void => put(works.filter((work) => work.id !== id || work.until === undefined));

/** Nobody is signed in any more. */
export function endWorks(): void {
  for (const end of ends.values()) end.abort();
  put([]);
}

export const useWorks = (): readonly Work[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => works,
  );

export const useWork = (id: number | undefined): Work | undefined => useWorks().find((work) => work.id === id);

function told(work: Work, { text, step }: WorkProgress): Work {
  if (!step) return { ...work, line: text };
  const before = work.steps.find(({ name }) => name === step.name);
  const known: Step = {
    ...step,
    since: before?.state === 'running' || step.state !== 'running' ? (before?.since ?? Date.now()) : Date.now(),
  };
  const steps = before ? work.steps.map((one) => (one === before ? known : one)) : [...work.steps, known];
  return { ...work, line: step.state === 'running' ? text : work.line, steps };
}

function change(id: number, to: (work: Work) => Work): void {
  put(works.map((work) => (work.id === id ? to(work) : work)));
}

function put(to: readonly Work[]): void {
  works = to;
  for (const listener of listeners) listener();
}

const warn = (event: BeforeUnloadEvent): void => event.preventDefault();

function warnBeforeLeaving(): void {
  if (ends.size > 0) window.addEventListener('beforeunload', warn);
  else window.removeEventListener('beforeunload', warn);
}
