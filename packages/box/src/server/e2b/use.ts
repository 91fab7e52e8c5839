import type { Sandbox } from '@skillbox/protocol';
import type { Box } from '../../box.ts';
import type { SandboxHandle } from '../../sandbox/living.ts';

/** A sandbox while one request uses it. */
export interface Use {
  readonly box: Box;
  readonly sandbox: Sandbox;
  readonly handle: SandboxHandle;
  readonly signal: AbortSignal;
  done(): void;
}
