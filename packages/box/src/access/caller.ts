import type { ActorKind, Scope } from '@skillbox/protocol';

/** Who asks, as the key says. */
export interface Caller {
  readonly tenant: string;
  readonly actor: { readonly kind: ActorKind; readonly id: string };
  readonly scopes: readonly Scope[];
  /** The sandbox whose channel it came through, in place of a key. */
  readonly inside?: string;
}

/** As it stands in a row. */
export const encodeActor = ({ kind, id }: Caller['actor']): string => `${kind}:${id}`;
