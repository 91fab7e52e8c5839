/** The way in: a key, or a link that the shell prints. */

import { type FormEvent, useEffect, useState } from 'react';
import type { Failure } from '../box/box.ts';
import { useAct } from '../box/use-act.ts';
import icon from '../icon.svg';
import { Button } from '../parts/button.tsx';
import { CommandLine } from '../parts/copy.tsx';
import { FailureNote } from '../parts/states.tsx';

export function SignIn({ why, onKey }: { readonly why: Failure | undefined; onKey(key: string): Promise<void> }) {
  const [key, setKey] = useState('');
  const enter = useAct(onKey);
  useEffect(() => {
    document.title = 'Sign in · Skillbox';
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void enter.run(key.trim());
  };
  return (
    <div className="sign-in">
      <main>
        <h1 className="brand">
          <img src={icon} alt="" />
          Skillbox
        </h1>
        <form onSubmit={submit}>
          <FailureNote failure={enter.failure ?? why} />
          <div className="field">
            <label htmlFor="key">API key</label>
            <input
              id="key"
              className="input mono"
              type="password"
              autoComplete="off"
              spellCheck={false}
              placeholder="sk-…"
              required
              // biome-ignore lint/a11y/noAutofocus: there is nothing else on this page.
              autoFocus
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
            <span className="hint">It stays in this tab and is forgotten when you close it.</span>
          </div>
          <Button kind="main" type="submit" busy={enter.busy}>
            Sign in
          </Button>
        </form>
        <div className="aside">
          <p>Or have the box sign you in: this prints a link that works once.</p>
          <CommandLine text="skillbox open" />
        </div>
      </main>
    </div>
  );
}
