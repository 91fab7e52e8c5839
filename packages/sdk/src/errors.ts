import type { ErrorBody, ErrorCode } from './types.ts';

/** Codes of this side, for what no box answered. */
export type ClientErrorCode = 'unreachable' | 'timed_out' | 'usage';

export interface SkillboxErrorOptions {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Everything the SDK throws, but for the reason of a signal that the caller aborted. */
export class SkillboxError extends Error {
  /** Stable; those a box answers with are listed in ErrorCode. */
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** What can be done about it. */
  readonly hint: string | undefined;

  constructor(code: SkillboxError['code'], message: string, options: SkillboxErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'SkillboxError';
    this.code = code;
    this.hint = options.hint;
  }
}

/** What a box answered instead of doing what was asked. */
export class APIError extends SkillboxError {
  readonly status: number;
  /** Finds the request in the log of the box. */
  readonly requestId: string | undefined;
  readonly details: unknown;
  /** Seconds after which it may be tried again, when the box said so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, body: ErrorBody, retryAfter?: number) {
    super(body.error, body.message, { hint: body.hint });
    this.name = 'APIError';
    this.status = status;
    this.requestId = body.request_id;
    this.details = body.details;
    this.retryAfter = retryAfter;
  }

  get statusCode(): number {
    return this.status;
  }

  get errorCode(): string {
    return this.code;
  }
}

/** No box answered, or the connection broke. */
export class ConnectionError extends SkillboxError {
  constructor(url: string, why: string, cause?: unknown) {
    super('unreachable', `No box answers at ${url}: ${why}.`, {
      cause,
      hint: 'Is it running, and is this its address? skillbox health says so.',
    });
    this.name = 'ConnectionError';
  }
}

/** The time that the caller gave was over. What was asked may have been done. */
export class TimeoutError extends SkillboxError {
  constructor(url: string, ms: number) {
    super('timed_out', `${url} did not answer within ${ms} ms.`, { hint: 'Raise timeoutMs, or ask again.' });
    this.name = 'TimeoutError';
  }
}

/** The error that this answer is. */
export async function errorOf(response: Response): Promise<SkillboxError> {
  const text = await response.text();
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const body = bodyOf(text);
  if (body) return new APIError(response.status, body, Number.isFinite(retryAfter) ? retryAfter : undefined);
  return new SkillboxError('unreachable', `${response.url} answered with status ${response.status}, but not as a Skillbox does.`, {
    hint: 'Something else may listen there, or stand before the box.',
  });
}

function bodyOf(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody> | null;
    return typeof body?.error === 'string' && typeof body.message === 'string' ? (body as ErrorBody) : undefined;
  } catch {
    // Not JSON: the caller says so.
    return undefined;
  }
}
