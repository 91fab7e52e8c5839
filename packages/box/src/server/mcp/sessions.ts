/**
 * Sessions of clients that speak a revision before 2026-07-28. One belongs to the key that opened it, and to this host: anybody else is
 * told that there is none, and begins anew. They cost little, are bounded in number, and go when nobody uses them.
 */

import { randomUUID } from 'node:crypto';
import { BoxError } from '@skillbox/protocol';
import { createMessageStream, type MessageStream } from './message-stream.ts';
import type { SessionRevision } from './revisions.ts';
import type { RpcId } from './rpc.ts';

export interface Session {
  readonly id: string;
  /** The key, and the tenant it acts for. */
  readonly owner: string;
  readonly revision: SessionRevision;
  /** Requests under way, by their id. */
  readonly calls: Map<RpcId, AbortController>;
  /** Aborts when it ends. */
  readonly over: AbortSignal;
  /** What is not about one request. */
  readonly news: MessageStream;
  /** For the answer to one request; its name is the beginning of the ids of its events. */
  openStream(): { readonly name: string; readonly stream: MessageStream };
  /** undefined for what is unknown or has been let go. */
  streamOf(name: string): MessageStream | undefined;
  /** While held it is in use. Returns what lets go. */
  hold(): () => void;
}

export interface Sessions {
  /** Throws rate_limited when this owner has too many, all of them in use. */
  open(owner: string, revision: SessionRevision): Session;
  find(id: string | undefined, owner: string): Session | undefined;
  close(session: Session): void;
  closeAll(): void;
  readonly size: number;
}

export interface SessionLimits {
  readonly all: number;
  readonly perOwner: number;
  readonly idleMs: number;
}

/** The name of the stream of news. */
export const newsName = 'news';
/** Answers that a reader who was cut off can still fetch. */
const mostStreams = 32;

interface Entry extends Session {
  readonly controller: AbortController;
  usedAt: number;
  holders: number;
}

export function createSessions({ all, perOwner, idleMs }: SessionLimits, now: () => number = () => performance.now()): Sessions {
  const entries = new Map<string, Entry>();
  let sweeping: NodeJS.Timeout | undefined;

  const close = ({ id }: Session): void => {
    const entry = entries.get(id);
    if (!entry) return;
    entries.delete(id);
    entry.news.end();
    entry.controller.abort();
    if (entries.size > 0) return;
    clearInterval(sweeping);
    sweeping = undefined;
  };
  const isIdle = ({ holders, calls }: Entry): boolean => holders === 0 && calls.size === 0;
  const isOver = (entry: Entry): boolean => isIdle(entry) && now() - entry.usedAt >= idleMs;
  const sweep = (): void => {
    for (const entry of entries.values()) if (isOver(entry)) close(entry);
  };
  /** Clients that crash say no farewell: the one that was idle longest makes room. */
  const makeRoom = (owner: string): void => {
    sweep();
    const own = [...entries.values()].filter((entry) => entry.owner === owner);
    const crowd = own.length >= perOwner ? own : entries.size >= all ? [...entries.values()] : [];
    if (crowd.length === 0) return;
    const [oldest] = crowd.filter(isIdle).sort((one, other) => one.usedAt - other.usedAt);
    if (!oldest) throw new BoxError('rate_limited', `${crowd.length} MCP sessions are in use already.`, { retryAfter: 5 });
    close(oldest);
  };

  return {
    get size() {
      return entries.size;
    },
    open(owner, revision) {
      makeRoom(owner);
      const entry = createSession(owner, revision, now);
      entries.set(entry.id, entry);
      sweeping ??= setInterval(sweep, Math.min(idleMs, 60_000)).unref();
      return entry;
    },
    find(id, owner) {
      const entry = id === undefined ? undefined : entries.get(id);
      if (!entry || entry.owner !== owner) return undefined;
      if (isOver(entry)) {
        close(entry);
        return undefined;
      }
      entry.usedAt = now();
      return entry;
    },
    close,
    closeAll() {
      for (const entry of entries.values()) close(entry);
    },
  };
}

function createSession(owner: string, revision: SessionRevision, now: () => number): Entry {
  const controller = new AbortController();
  const streams = new Map<string, MessageStream>();
  const news = createMessageStream();
  let count = 0;
  const letGo = (): void => {
    for (const [name, stream] of streams) {
      if (streams.size < mostStreams) return;
      if (stream.ended) streams.delete(name);
    }
  };
  return {
    ...{ id: randomUUID(), owner, revision, controller, news, over: controller.signal, calls: new Map() },
    usedAt: now(),
    holders: 0,
    openStream() {
      letGo();
      count += 1;
      const opened = { name: `call${count}`, stream: createMessageStream() };
      streams.set(opened.name, opened.stream);
      return opened;
    },
    streamOf: (name) => (name === newsName ? news : streams.get(name)),
    hold() {
      this.holders += 1;
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        this.holders -= 1;
        this.usedAt = now();
      };
    },
  };
}
