/** How a service declares its methods: the schema of the message, and what is done with it. */

import type { z } from 'zod';
import type { Use } from './use.ts';

export interface UnaryMethod {
  readonly kind: 'unary';
  readonly request: z.ZodType;
  run(use: Use, message: unknown): Promise<unknown>;
}

export interface StreamMethod {
  readonly kind: 'stream';
  readonly request: z.ZodType;
  /** Said when nothing else was for a while. */
  readonly keepalive: unknown;
  /** Ends by itself when the caller has gone. */
  run(use: Use, message: unknown, timeoutMs: number | undefined): AsyncIterable<unknown>;
}

export type Method = UnaryMethod | StreamMethod;

export function unary<S extends z.ZodType>(request: S, run: (use: Use, message: z.output<S>) => Promise<unknown>): UnaryMethod {
  return { kind: 'unary', request, run: run as UnaryMethod['run'] };
}

export function stream<S extends z.ZodType>(
  request: S,
  keepalive: unknown,
  run: (use: Use, message: z.output<S>, timeoutMs: number | undefined) => AsyncIterable<unknown>,
): StreamMethod {
  return { kind: 'stream', request, keepalive, run: run as StreamMethod['run'] };
}
