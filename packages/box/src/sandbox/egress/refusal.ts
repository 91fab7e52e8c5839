/** Why the proxy does not do what was asked: for the answer inside, the audit record and the counters. */

/** Bounded, since they are labels of a metric. */
export type RefusalReason =
  | 'malformed'
  | 'bad_host'
  | 'network_off'
  | 'not_allowed'
  | 'private_address'
  | 'unresolved'
  | 'unreachable'
  | 'untrusted'
  | 'secret_missing'
  | 'not_found';

const statuses: Record<RefusalReason, number> = {
  malformed: 400,
  bad_host: 400,
  network_off: 403,
  not_allowed: 403,
  private_address: 403,
  unresolved: 502,
  unreachable: 502,
  untrusted: 502,
  secret_missing: 502,
  not_found: 404,
};

export class Refusal extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Refusal';
    this.reason = reason;
  }

  get status(): number {
    return statuses[this.reason];
  }
}
