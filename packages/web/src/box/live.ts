/**
 * What happens in the box, as it happens: one stream for the whole dashboard, since a browser opens only a few connections to
 * one place. It goes on where it broke off.
 */

import type { BoxEvent, Client } from '@skillbox/sdk';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { noteFailure } from './reachable.ts';

const kept = 200;
const pauseMs = 2000;

export interface Live {
  /** Newest first. */
  readonly recent: readonly BoxEvent[];
  subscribe(listener: (event: BoxEvent | undefined) => void): () => void;
  stop(): void;
}

let live: Live | undefined;
const changes = new Set<() => void>();

export function startLive(client: Client): void {
  live?.stop();
  live = createLive(client);
  for (const changed of changes) changed();
}

export function stopLive(): void {
  live?.stop();
  live = undefined;
}

function createLive(client: Client): Live {
  const listeners = new Set<(event: BoxEvent | undefined) => void>();
  const end = new AbortController();
  let recent: readonly BoxEvent[] = [];
  let last: string | undefined;

  const listen = async (): Promise<void> => {
    while (!end.signal.aborted) {
      try {
        const stream = client.events.follow({ recent: 50 }, { signal: end.signal, ...(last !== undefined && { lastEventId: last }) });
        for await (const { id, data } of stream) {
          last = id;
          recent = [data, ...recent].slice(0, kept);
          for (const listener of listeners) listener(data);
        }
      } catch (error) {
        if (end.signal.aborted) return;
        noteFailure(error);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  };
  void listen();

  return {
    get recent() {
      return recent;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => end.abort(),
  };
}

const nothing: readonly BoxEvent[] = [];

/** The newest events that `wanted` takes, newest first. */
export function useRecentEvents(): readonly BoxEvent[] {
  return useSyncExternalStore(
    (changed) => {
      changes.add(changed);
      const leave = live?.subscribe(changed);
      return () => {
        changes.delete(changed);
        leave?.();
      };
    },
    () => live?.recent ?? nothing,
  );
}

/** Calls `act` after events that `wanted` takes, once for many that come together. */
export function useOnEvents(wanted: (event: BoxEvent) => boolean, act: () => void, gatherMs = 400): void {
  const latest = useRef({ wanted, act });
  latest.current = { wanted, act };
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another stream, another subscription.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = live?.subscribe((event) => {
      if (!event || timer !== undefined || !latest.current.wanted(event)) return;
      timer = setTimeout(() => {
        timer = undefined;
        latest.current.act();
      }, gatherMs);
    });
    const changed = (): void => setTurn((before) => before + 1);
    changes.add(changed);
    return () => {
      clearTimeout(timer);
      changes.delete(changed);
      leave?.();
    };
  }, [gatherMs, turn]);
}
