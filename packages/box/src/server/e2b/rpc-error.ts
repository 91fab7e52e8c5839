export type RpcCode =
  | 'invalid_argument'
  | 'unauthenticated'
  | 'not_found'
  | 'already_exists'
  | 'resource_exhausted'
  | 'deadline_exceeded'
  | 'unimplemented'
  | 'unavailable'
  | 'internal';

/** An end of a call that only Connect has a word for. */
export class RpcError extends Error {
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string) {
    super(message);
    this.code = code;
  }
}
