import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** JSON lines on stderr, so that stdout stays clean; secrets never reach it because nothing logs bodies, headers or env. */
export function createLog(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ fd: 2, sync: true }),
  );
}
