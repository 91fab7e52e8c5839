/** What a command is. CLI, `/v1`, OpenAPI and, later, MCP are faces of the list in registry.ts. */

import type { Scope, WorkProgress } from '@skillbox/protocol';
import type { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import type { Box } from '../box.ts';
import type { OwnWork } from './graph-command.ts';

export interface CommandContext {
  readonly box: Box;
  readonly caller: Caller;
  readonly requestId: string;
  /** When the request came in, by performance.now(). */
  readonly receivedAt: number;
  /** Origin for links, such as http://127.0.0.1:8080. */
  readonly origin: string;
  readonly idempotencyKey: string | undefined;
  /** Last-Event-ID of a stream that is resumed. */
  readonly lastEventId: string | undefined;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
  /** Hears how work that takes long goes on; only for a caller that listens. */
  readonly progress?: ((progress: WorkProgress) => void) | undefined;
}

/** How the answer travels. */
export type OutputKind =
  | { readonly kind: 'json'; readonly schema: z.ZodType; readonly status?: number; readonly accepted?: z.ZodType }
  | { readonly kind: 'empty' }
  | { readonly kind: 'text' }
  | { readonly kind: 'bytes'; readonly contentType: string }
  | { readonly kind: 'events'; readonly schema: z.ZodType };

export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

/** What `run` may return besides plain JSON. */
export class Reply {
  constructor(
    readonly body: unknown,
    readonly options: { readonly status?: number; readonly headers?: Record<string, string> } = {},
  ) {}
}

export interface HttpFace {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With :name parameters; `:path*` takes the rest. What is not in the path is query (GET, DELETE) or JSON body. */
  readonly path: string;
  /** A zip or multipart upload arrives as input.archive. */
  readonly upload?: boolean;
  /** The body arrives as input.body, a stream of any length; the other fields stand in the query. unless-json: a JSON body is read as such. */
  readonly raw?: 'always' | 'unless-json';
  /** Also reachable with a signed link instead of a key. */
  readonly signed?: boolean;
}

export interface CliFace {
  /** Words after `skillbox`, such as `skill show`. */
  readonly words: string;
  /** Inputs that are positional, in order; a name ending in ? is optional. */
  readonly args?: readonly string[];
  readonly examples: readonly string[];
  /** true: the CLI has its own file for it in cli/, over this command's schema. */
  readonly polished?: boolean;
}

export interface FollowFace<I extends z.ZodObject = z.ZodObject> {
  /** The name of its events. */
  readonly event: string;
  /** Their data. */
  readonly schema: z.ZodType;
  run(context: CommandContext, input: z.output<I>): Promise<AsyncIterable<StreamEvent>>;
}

export interface Command<I extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** any: a key is enough, whatever it may do; null: no key needed. */
  readonly scope: Scope | 'any' | null;
  readonly effect: 'read' | 'change';
  /** An administrative act: leaves an audit event. */
  readonly audited?: boolean;
  /** Fields of the input that no event may have. */
  readonly unrecorded?: readonly string[];
  readonly input: I;
  readonly output: OutputKind;
  readonly http: HttpFace;
  readonly cli?: CliFace;
  /** Throws when the box would refuse this caller now whatever it asks for. Called before the body is read, and not for what may be a repeat. */
  admit?(box: Box, caller: Caller): void;
  run(context: CommandContext, input: z.output<I>): Promise<unknown>;
  /** Takes long, and says how it goes on: over HTTP to who accepts text/event-stream, over MCP to who gave a progressToken. */
  readonly tellsProgress?: boolean;
  /** What comes after its answer, as events, for who accepts text/event-stream. What is wrong with the request is thrown before the first. */
  readonly follow?: FollowFace<I>;
  /** The CLI does it by itself unless it is told to ask a box. */
  readonly own?: OwnWork;
}

/** Keeps the input's type for `run`, then forgets it so that all commands fit one list. */
export function command<I extends z.ZodObject>(definition: Command<I>): Command {
  return definition as unknown as Command;
}
