/** A moment, told by how long ago it was; the exact one on hover. All of them move on together. */

import { useSyncExternalStore } from 'react';
import { formatAgo, formatTime } from './format.ts';

const stepMs = 5000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, stepMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

export function Ago({ time }: { readonly time: string }) {
  const current = useNow();
  return (
    <time dateTime={time} title={formatTime(time)}>
      {formatAgo(time, Math.max(current, Date.now()))}
    </time>
  );
}
