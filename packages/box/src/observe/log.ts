import { BoxError } from '@skillbox/protocol';
import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** JSON lines on stderr, so that stdout stays clean; secrets never reach it because nothing logs bodies, headers or env. */
export function createLog(level: string): Logger {
  return pino(
    {
      ...{ level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorForLog },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}

/** What is thrown on purpose has said what happened and what to do; the way it was thrown would only bury that. */
export function errorForLog(error: unknown): unknown {
  if (!(error instanceof BoxError) || error.code === 'internal') return pino.stdSerializers.err(error as Error);
  const { code, message, hint, cause } = error;
  const more = cause instanceof Error && !message.includes(cause.message) ? { cause: cause.message } : {};
  return { type: 'BoxError', code, message, hint, ...more };
}
