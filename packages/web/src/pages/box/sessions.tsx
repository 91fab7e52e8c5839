/** Timelines of work, newest first. */

import type { WorkSession } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link, navigate, useQuery } from '../../router.tsx';

export const sessionTones: Readonly<Record<WorkSession['state'], Tone>> = {
  active: 'busy',
  completed: 'good',
  failed: 'bad',
  abandoned: 'warn',
};
const states = ['active', 'completed', 'failed', 'abandoned'] as const;
const most = 200;

export function Sessions() {
  const { client, may } = useBox();
  const [query, change] = useQuery();
  const state = states.find((each) => each === query.get('state'));
  const of = query.get('client') ?? '';
  const wanted = { limit: most, ...(state && { state }), ...(of && { client_id: of }) };
  const found = useLoad(`sessions ${JSON.stringify(wanted)}`, (signal) => client.sessions.list(wanted, { signal }), { every: 5000 });
  const model = useLoad('describe', (signal) => client.runtime.describe({ signal }));
  useOnEvents(({ type }) => type.startsWith('audit.session') || type.startsWith('graph.session'), found.reload);
  return (
    <>
      <div className="filters">
        <div className="choice" role="group" aria-label="State">
          <button type="button" aria-pressed={!state} onClick={() => change({ state: '' })}>
            All
          </button>
          {states.map((each) => (
            <button key={each} type="button" aria-pressed={each === state} onClick={() => change({ state: each })}>
              {each}
            </button>
          ))}
        </div>
        <select className="input" aria-label="Client" value={of} onChange={({ target }) => change({ client: target.value })}>
          <option value="">All clients</option>
          {(model.data?.clients ?? []).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <span className="rest" />
        {may('graph:use') && (
          <Button kind="main" icon="plus" onClick={() => change({ new: 'yes' })}>
            New session
          </Button>
        )}
      </div>
      <Show of={found}>
        {(sessions) =>
          sessions.length === 0 ? (
            <Empty
              title={state || of ? 'None of them fits' : 'No session yet'}
              icon="clock"
              command="skillbox session start CLIENT --label 'what it is about'"
            >
              <p>A session keeps what was done and decided for a client, so that the next agent knows.</p>
            </Empty>
          ) : (
            <div className="scroll-x" tabIndex={0} role="group" aria-label="Sessions">
              <table className="table">
                <thead>
                  <tr>
                    <th>Session</th>
                    <th>State</th>
                    <th>Client</th>
                    <th className="right">Events</th>
                    <th className="right">Last</th>
                  </tr>
                </thead>
                <tbody>
                  {sessions.map((session) => (
                    <tr key={session.session_id}>
                      <td>
                        <Link to={`/box/sessions/${session.session_id}`}>{session.label ?? session.session_id}</Link>
                        {session.goal && <div className="faint">{session.goal}</div>}
                      </td>
                      <td>
                        <span className="cluster">
                          <Badge text={session.state} tone={sessionTones[session.state]} />
                          {session.stale && <Badge text="nobody was heard of" tone="warn" />}
                        </span>
                      </td>
                      <td>{session.client_id}</td>
                      <td className="right">{session.events}</td>
                      <td className="right nowrap">
                        <Ago time={session.updated_at} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Show>
      {query.get('new') && may('graph:use') && (
        <StartDialog clients={model.data?.clients ?? []} first={of} onClose={() => change({ new: '' })} />
      )}
    </>
  );
}

function StartDialog({ clients, first, onClose }: { readonly clients: readonly string[]; readonly first: string; onClose(): void }) {
  const { client } = useBox();
  const [of, setOf] = useState(first);
  const [label, setLabel] = useState('');
  const [goal, setGoal] = useState('');
  const chosen = of || (clients[0] ?? '');
  const start = useAct(async () => {
    const texts = { ...(label.trim() && { label: label.trim() }), ...(goal.trim() && { goal: goal.trim() }) };
    const session = await client.sessions.start({ client_id: chosen, ...texts });
    navigate(`/box/sessions/${session.session_id}`);
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void start.run();
  };
  return (
    <Dialog title="New session" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Client">
          {(control) => (
            <select {...control} className="input" value={chosen} onChange={({ target }) => setOf(target.value)}>
              {clients.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Label" hint="What it is about, in a few words">
          {(control) => (
            <input {...control} className="input" maxLength={200} value={label} onChange={({ target }) => setLabel(target.value)} />
          )}
        </Field>
        <Field label="Goal" hint="What should be true at its end">
          {(control) => (
            <textarea
              {...control}
              className="input"
              rows={3}
              maxLength={4000}
              value={goal}
              onChange={({ target }) => setGoal(target.value)}
            />
          )}
        </Field>
        <FailureNote failure={start.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={start.busy} disabled={chosen === ''}>
            Begin
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
