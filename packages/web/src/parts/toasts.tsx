/** Short words in the corner: that something was done, or was not. */

import { useSyncExternalStore } from 'react';
import type { Failure } from '../box/box.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly hint?: string | undefined;
  readonly bad: boolean;
}

const lastMs = 6000;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let next = 1;

export function say(text: string): void {
  add({ text, bad: false });
}

export function complain({ message, hint }: Failure): void {
  add({ text: message, hint, bad: true });
}

function add(toast: Omit<Toast, 'id'>): void {
  const id = next++;
  change([...toasts, { id, ...toast }]);
  setTimeout(() => change(toasts.filter((each) => each.id !== id)), lastMs);
}

function change(to: readonly Toast[]): void {
  toasts = to;
  for (const listener of listeners) listener();
}

export function Toasts() {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map(({ id, text, hint, bad }) => (
        <div key={id} className={bad ? 'toast bad' : 'toast'}>
          {text}
          {hint && <small>{hint}</small>}
        </div>
      ))}
    </div>
  );
}
