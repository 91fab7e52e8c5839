import { BoxError } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { errorForLog } from './log.ts';

describe('errors in the log', () => {
  it('that we throw on purpose are what happened and what to do, without a stack', () => {
    const error = new BoxError('unavailable', 'PostgreSQL cannot be reached.', { hint: 'Start it.', cause: new Error('ECONNREFUSED') });
    expect(errorForLog(error)).toEqual({
      ...{ type: 'BoxError', code: 'unavailable', message: 'PostgreSQL cannot be reached.', hint: 'Start it.', cause: 'ECONNREFUSED' },
    });
    const named = new BoxError('unavailable', 'It broke: ECONNRESET.', { hint: 'Wait.', cause: new Error('ECONNRESET') });
    expect(errorForLog(named)).not.toHaveProperty('cause');
  });

  it('that nobody expected keep theirs', () => {
    expect(errorForLog(new TypeError('x is undefined'))).toMatchObject({ type: 'TypeError', stack: expect.stringContaining('log.test') });
    expect(errorForLog(new BoxError('internal', 'A defect.'))).toMatchObject({ stack: expect.stringContaining('log.test') });
  });
});
