/** API keys: who has one, what it may do, a new one (shown once), and the end of one. */

import type { ApiKey, CreatedApiKey } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { type Scope, useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useMore } from '../../box/use-more.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { ConfirmAct, Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { More } from '../../parts/more.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { useQuery } from '../../router.tsx';

export function Keys() {
  const { client, self } = useBox();
  const [query, change] = useQuery();
  const only = query.get('of') ?? '';
  const state = query.get('state') ?? 'working';
  const keys = useMore(`keys ${only}`, (cursor, signal) =>
    client.keys.list({ limit: 100, ...(only && { tenant: only }), ...(cursor !== undefined && { cursor }) }, { signal }),
  );
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedApiKey>();
  const [revoking, setRevoking] = useState<ApiKey>();
  const shown = keys.data?.filter((key) => state === 'all' || stateOf(key) === 'working');
  return (
    <>
      <div className="filters">
        <input
          className="input"
          aria-label="Only of this tenant"
          placeholder="Only of tenant"
          value={only}
          onChange={({ target }) => change({ of: target.value })}
        />
        <select
          className="input"
          aria-label="State"
          value={state}
          onChange={({ target }) => change({ state: target.value === 'working' ? undefined : target.value })}
        >
          <option value="working">Working</option>
          <option value="all">Also ended</option>
        </select>
        <span className="rest" />
        <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
          New key
        </Button>
      </div>
      <Card title="Keys">
        <Show of={{ ...keys, data: shown }}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                small
                title={only ? `${only} has no keys here` : 'There are no such keys'}
                icon="key"
                command={`skillbox key create ci${only && ` --tenant ${only}`}`}
              />
            ) : (
              <div className="scroll-x">
                <table className="table">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th>Tenant</th>
                      <th>May</th>
                      <th>Created</th>
                      <th>Last used</th>
                      <th>State</th>
                      <th>
                        <span className="visually-hidden">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((key) => (
                      <tr key={key.id}>
                        <td>
                          <strong className="wrap">{key.name}</strong>
                          <div className="faint mono">{key.id}</div>
                        </td>
                        <td>{key.tenant}</td>
                        <td className="scopes">{key.scopes.join(', ')}</td>
                        <td className="nowrap">
                          <Ago time={key.created_at} />
                        </td>
                        <td className="nowrap">{key.last_used_at ? <Ago time={key.last_used_at} /> : 'never'}</td>
                        <td>
                          <State of={key} />
                          {key.id === self.id && <span className="faint"> this one</span>}
                        </td>
                        <td className="right">
                          {stateOf(key) === 'working' && (
                            <Button kind="danger" label={`Revoke ${key.name}`} onClick={() => setRevoking(key)}>
                              Revoke
                            </Button>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Show>
        <More of={keys} />
      </Card>
      {creating && (
        <Create
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false);
            setCreated(key);
            keys.reload();
          }}
        />
      )}
      {created && <ShownOnce of={created} onClose={() => setCreated(undefined)} />}
      {revoking && <Revoke of={revoking} own={revoking.id === self.id} onClose={() => setRevoking(undefined)} onDone={keys.reload} />}
    </>
  );
}

const stateOf = ({ revoked_at, expires_at }: ApiKey): 'working' | 'revoked' | 'expired' => {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'working';
};

function State({ of }: { readonly of: ApiKey }) {
  const state = stateOf(of);
  if (state !== 'working') return <Badge text={state} tone="plain" />;
  return (
    <>
      <Badge text="working" tone="good" />
      {of.expires_at && <div className="faint">until {new Date(of.expires_at).toLocaleString('en-GB')}</div>}
    </>
  );
}

const scopes: readonly (readonly [Scope, string])[] = [
  ['skills:read', 'see skills'],
  ['skills:write', 'push and delete skills'],
  ['executions:read', 'see executions'],
  ['executions:run', 'run skills'],
  ['sandboxes:read', 'see sandboxes, templates and credits'],
  ['sandboxes:use', 'make and use sandboxes'],
  ['secrets:manage', 'set and delete secrets'],
  ['graph:read', 'see the environment of the whole box, with its logs and sessions'],
  ['graph:use', 'sync, start and stop it, and write sessions'],
  ['admin', 'everything, for every tenant'],
];
const usual: readonly Scope[] = ['skills:read', 'executions:read', 'executions:run', 'sandboxes:read', 'sandboxes:use'];

function Create({ onClose, onCreated }: { onClose(): void; onCreated(key: CreatedApiKey): void }) {
  const { client, tenant } = useBox();
  const [name, setName] = useState('');
  const [of, setOf] = useState(tenant);
  const [actor, setActor] = useState<ApiKey['actor']>('agt');
  const [expires, setExpires] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<Scope>>(new Set(usual));
  const create = useAct(async () => {
    onCreated(
      await client.keys.create({
        name: name.trim(),
        tenant: of.trim(),
        actor,
        scopes: [...chosen],
        ...(expires.trim() && { expires_in: expires.trim() }),
      }),
    );
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void create.run();
  };
  const toggle = (scope: Scope, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(scope);
    else next.delete(scope);
    setChosen(next);
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Name" hint="What the key is for">
          {(control) => (
            <input {...control} className="input" required maxLength={100} value={name} onChange={({ target }) => setName(target.value)} />
          )}
        </Field>
        <Field label="Tenant" hint="Whose skills, executions and sandboxes it sees">
          {(control) => <input {...control} className="input" required value={of} onChange={({ target }) => setOf(target.value)} />}
        </Field>
        <fieldset className="group">
          <legend>It may</legend>
          {scopes.map(([scope, meaning]) => (
            <label key={scope} className="tick">
              <input type="checkbox" checked={chosen.has(scope)} onChange={({ target }) => toggle(scope, target.checked)} />
              <code>{scope}</code> <span className="faint">{meaning}</span>
            </label>
          ))}
        </fieldset>
        <div className="two">
          <Field label="Who acts">
            {(control) => (
              <select {...control} className="input" value={actor} onChange={({ target }) => setActor(target.value as ApiKey['actor'])}>
                <option value="agt">an agent</option>
                <option value="adm">a person</option>
                <option value="atm">automation</option>
              </select>
            )}
          </Field>
          <Field label="Ends after" hint="Such as 24h; empty: never">
            {(control) => <input {...control} className="input" value={expires} onChange={({ target }) => setExpires(target.value)} />}
          </Field>
        </div>
        <FailureNote failure={create.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={create.busy} disabled={chosen.size === 0 || name.trim() === ''}>
            Make the key
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function ShownOnce({ of, onClose }: { readonly of: CreatedApiKey; onClose(): void }) {
  return (
    <Dialog title={`The key ${of.name}`} onClose={onClose}>
      <p>Copy it now: it is shown this once, and only its hash is kept.</p>
      <CommandLine text={of.key} />
      <footer>
        <Button kind="main" onClick={onClose}>
          I have it
        </Button>
      </footer>
    </Dialog>
  );
}

function Revoke({ of, own, onClose, onDone }: { readonly of: ApiKey; readonly own: boolean; onClose(): void; onDone(): void }) {
  const { client, signOut } = useBox();
  const act = async () => {
    await client.keys.revoke(of.id);
    say(`${of.name} does not work any more.`);
    onClose();
    if (own) signOut('You revoked the key that you were signed in with.');
    else onDone();
  };
  return (
    <ConfirmAct title={`Revoke ${of.name}?`} verb="Revoke" act={act} onClose={onClose}>
      <p>
        Whoever uses it is refused from the next request on, and so are sign-ins that came from it. It cannot be undone.
        {own && ' It is the key that you are signed in with: you will be signed out.'}
      </p>
    </ConfirmAct>
  );
}
