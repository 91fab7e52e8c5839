/** A command as the shell sees it, whether a box answers it or this process does. */

import type { z } from 'zod';
import type { Config, SettingName } from '../config.ts';
import type { Client } from './client.ts';
import type { Io } from './io.ts';

export interface Leaf {
  /** Name in the registry, such as skill.show. */
  readonly name: string;
  /** Words after `skillbox`, such as `skill show`. */
  readonly words: string;
  readonly summary: string;
  readonly description?: string;
  readonly examples: readonly string[];
  /** Flags and arguments come from this. */
  readonly input: z.ZodObject;
  /** Fields that are positional, in order; a name ending in ? is optional. */
  readonly args: readonly string[];
  /** Whether it talks to a box, and so takes --server and --api-key. */
  readonly remote: boolean;
  run(context: CliContext, input: Record<string, unknown>): Promise<Outcome>;
}

export interface CliContext {
  readonly io: Io;
  /** Flags, environment, .env and defaults; `more` are flags of one command, such as --port of serve. */
  config(more?: Flags): Config;
  /** The flags of this call that are settings, for who passes them on. */
  readonly flags: Flags;
  /** The box that the flags name; a promise, because most of what it takes is loaded only now. */
  client(): Promise<Client>;
  /** The commands that were loaded; for who describes them, all. */
  readonly leaves: readonly Leaf[];
}

export type Flags = Partial<Record<SettingName, string | undefined>>;

/** What a command leaves to be printed: `text` for people, `value` as JSON for programs. */
export interface Outcome {
  readonly value?: unknown;
  /** JSON exactly as the box wrote it: numbers that JavaScript cannot hold survive. */
  readonly raw?: string;
  readonly text?: string;
  readonly exit?: number;
}
