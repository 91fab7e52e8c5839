/** What an address answers, for healthchecks and checks. */

import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';

/** The status, or why there is none. Where a redirect leads is not looked at. */
export function httpAnswer(url: string, timeoutMs: number): Promise<number | string> {
  return new Promise((resolve) => {
    const request = url.startsWith('https:') ? tlsRequest : plainRequest;
    const call = request(url, { agent: false, headers: { connection: 'close' }, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      resolve(response.statusCode ?? 0);
      // The status is all that is asked for, however long the body is.
      call.destroy();
    });
    call.once('error', (error) =>
      resolve(call.destroyed && error.name === 'AbortError' ? `no answer within ${timeoutMs} ms` : error.message),
    );
    call.end();
  });
}

/** Where no status is declared, everything that is no error is well. */
export const isWell = (status: number, expected: number | undefined): boolean =>
  expected === undefined ? status >= 200 && status < 400 : status === expected;
