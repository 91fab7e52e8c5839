/** A box that E2B's SDK finds as its users would point it there: by environment variables alone. */

import { afterAll, beforeAll } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';

export function useE2bBox(env: Record<string, string> = {}): { readonly box: TestBox } {
  const held: { box?: TestBox } = {};
  beforeAll(async () => {
    held.box = await startTestBox(env);
    Object.assign(process.env, e2bEnv(held.box));
  });
  afterAll(async () => {
    await held.box?.stop();
  });
  return held as { box: TestBox };
}

export const e2bEnv = ({ url, key }: { url: string; key: string }): Record<string, string> => ({
  E2B_API_URL: `${url}/e2b`,
  E2B_SANDBOX_URL: `${url}/e2b`,
  E2B_API_KEY: key,
});
