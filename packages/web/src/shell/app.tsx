/** Who is signed in decides what there is: the way in, or the dashboard. */

import { APIError, type ApiKey, Client } from '@skillbox/sdk';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { type BoxAccess, BoxContext, type Failure, failureOf } from '../box/box.ts';
import { askOtherTabs, forgetKey, keepKey, readKey, shareKey, takeCode } from '../box/kept-key.ts';
import { startLive, stopLive } from '../box/live.ts';
import { isAway, noteFailure, useReturns } from '../box/reachable.ts';
import { endWorks } from '../box/works.ts';
import { FailureState, Loading } from '../parts/states.tsx';
import { Toasts } from '../parts/toasts.tsx';
import { useAddress } from '../router.tsx';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

type State =
  | { readonly at: 'looking' }
  | { readonly at: 'away'; readonly failure: Failure }
  | { readonly at: 'out'; readonly why?: Failure | undefined }
  | { readonly at: 'in'; readonly key: string; readonly self: ApiKey };

/** Few tries: a person sees that it is away, and the dashboard looks again by itself. */
const clientFor = (key: string | undefined, tenant?: string): Client =>
  new Client(location.origin, key, { maxRetries: 1, timeoutMs: 30_000, ...(tenant !== undefined && { tenant }) });

const code = takeCode();

export function App() {
  const [state, setState] = useState<State>({ at: 'looking' });
  const returns = useReturns();

  const enter = useCallback(async (key: string): Promise<void> => {
    const self = await clientFor(key).keys.self();
    keepKey(key);
    setState({ at: 'in', key, self });
  }, []);

  const start = useCallback(async (): Promise<void> => {
    try {
      const exchanged = await exchangeOnce();
      const key = exchanged ?? readKey() ?? (await askOtherTabs());
      if (key === undefined) setState({ at: 'out' });
      else await enter(key);
    } catch (error) {
      if (isAway(error)) {
        noteFailure(error);
        setState({ at: 'away', failure: failureOf(error) });
        return;
      }
      const failure = failureOf(error);
      if (error instanceof APIError && error.status === 401) forgetKey();
      setState({ at: 'out', why: failure });
    }
  }, [enter]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once at the start, and again when the box is back.
  useEffect(() => {
    if (state.at === 'looking' || state.at === 'away') void start();
  }, [returns]);

  useEffect(() => shareKey(() => setState({ at: 'out' })), []);

  return (
    <>
      {state.at === 'looking' && <Loading />}
      {state.at === 'away' && <FailureState failure={state.failure} />}
      {state.at === 'out' && <SignIn why={state.why} onKey={enter} />}
      {state.at === 'in' && <Inside signedIn={state} onOut={(why) => setState({ at: 'out', why })} />}
      <Toasts />
    </>
  );
}

/** A code works once, and React may begin twice. */
let exchanging: Promise<string | undefined> | undefined;
function exchangeOnce(): Promise<string | undefined> {
  exchanging ??=
    code === undefined
      ? Promise.resolve(undefined)
      : clientFor(undefined)
          .signIn.exchange(code)
          .then(({ key }) => key);
  return exchanging;
}

function Inside({ signedIn: { key, self }, onOut }: { readonly signedIn: Extract<State, { at: 'in' }>; onOut(why?: Failure): void }) {
  const { query } = useAddress();
  const isAdmin = self.scopes.includes('admin');
  const tenant = (isAdmin && query.get('tenant')) || self.tenant;
  const client = useMemo(() => clientFor(key, tenant === self.tenant ? undefined : tenant), [key, tenant, self]);

  useEffect(() => {
    startLive(client);
    return stopLive;
  }, [client]);
  useEffect(() => endWorks, []);

  const access = useMemo(
    (): BoxAccess => ({
      ...{ client, self, tenant },
      may: (scope) => scope === 'any' || isAdmin || [scope].flat().some((each) => self.scopes.includes(each)),
      signOut(why) {
        // Without a reason it is the person's wish, and the box should know; one that cannot be told forgets the key all the same.
        if (why === undefined) client.signIn.end().catch(noteFailure);
        forgetKey();
        onOut(
          why === undefined ? undefined : { code: 'unauthorized', message: why, hint: undefined, requestId: undefined, details: undefined },
        );
      },
    }),
    [client, self, tenant, isAdmin, onOut],
  );
  return (
    <BoxContext value={access}>
      <Shell />
    </BoxContext>
  );
}
