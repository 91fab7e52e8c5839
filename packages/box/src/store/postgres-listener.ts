/** One connection that listens for notifications and comes back by itself after it was lost. */

import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const longestPauseMs = 5000;

export class PostgresListener {
  readonly #settings: pg.ClientConfig;
  readonly #wakeups = new EventEmitter().setMaxListeners(0);
  readonly #closed = new AbortController();
  /** Channels of the LISTENs that were sent on the present connection. */
  #listening = new Set<string>();
  #client: pg.Client | undefined;
  #subscribing = Promise.resolve();
  #loop: Promise<void> | undefined;

  constructor(settings: pg.ClientConfig) {
    this.#settings = settings;
  }

  listen(channel: string, wake: () => void): () => void {
    this.#wakeups.on(channel, wake);
    this.#loop ??= this.#keepConnected();
    if (this.#client) this.#subscribe(this.#client);
    return () => this.#wakeups.off(channel, wake);
  }

  /** Wakes the listeners of this process without the way through the server. */
  wake(channel: string): void {
    this.#wakeups.emit(channel);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#client?.end();
    await this.#loop;
  }

  async #keepConnected(): Promise<void> {
    let pauseMs = 50;
    while (!this.#closed.signal.aborted) {
      const client = new pg.Client(this.#settings);
      const lost = new Promise<void>((resolve) => {
        client.once('end', resolve);
        // Without a listener an 'error' would end the process; 'end' follows it.
        client.on('error', () => resolve());
      });
      client.on('notification', ({ channel }) => this.wake(channel));
      try {
        await client.connect();
        pauseMs = 50;
        if (this.#closed.signal.aborted) return await client.end();
        this.#client = client;
        this.#listening = new Set();
        this.#subscribing = Promise.resolve();
        this.#subscribe(client);
        await lost;
      } catch {
        // The server is away. Queries say so to their callers; this loop only has to be back when it is.
      }
      this.#client = undefined;
      // Ends a half-open connection; it may be gone already, which is what we want.
      client.end().catch(() => undefined);
      if (this.#closed.signal.aborted) return;
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  /** One question at a time, as the connection wants it. */
  #subscribe(client: pg.Client): void {
    this.#subscribing = this.#subscribing.then(() => this.#listenToAll(client));
  }

  async #listenToAll(client: pg.Client): Promise<void> {
    for (const channel of this.#wakeups.eventNames().map(String)) {
      if (client !== this.#client || this.#listening.has(channel)) continue;
      this.#listening.add(channel);
      try {
        await client.query(`listen ${client.escapeIdentifier(channel)}`);
        // What was notified before this moment is lost, so have a look.
        this.wake(channel);
      } catch {
        // The connection broke; the loop makes a new one and subscribes again.
        if (client === this.#client) this.#listening.delete(channel);
      }
    }
  }
}
