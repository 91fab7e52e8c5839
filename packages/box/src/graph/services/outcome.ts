/** What became of a service, as it is reported. */

import { type BoxError, type ErrorCode, errorKinds, type Fault, type ServiceOutcome } from '@skillbox/protocol';

export const faultOf = (error: ErrorCode, message: string, hint: string = errorKinds[error].hint): Fault => ({ error, message, hint });

export const faultOfError = (error: BoxError): Fault => faultOf(error.code, error.message, error.hint);

export function outcome(
  id: string,
  result: ServiceOutcome['result'],
  since: number,
  more: Partial<Pick<ServiceOutcome, 'pid' | 'detail' | 'error' | 'tail'>> = {},
): ServiceOutcome {
  const duration_ms = Math.round(performance.now() - since);
  return { id, result, pid: null, duration_ms, detail: more.error?.message ?? null, error: null, tail: [], ...more };
}

/** Of one that was dead when it was to be stopped. */
export const noLongerWanted = 'it was gone already; nobody starts it again now';

/** Those after which nothing that needs the service can start. */
export const isFailure = ({ result }: ServiceOutcome): boolean => ['failed', 'timeout', 'skipped', 'stuck'].includes(result);
