/** One session: its timeline, and what it hands over. */

import type { SessionEvent, WorkSessionDetail } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { formatTime } from '../../parts/format.ts';
import { Markdown } from '../../parts/markdown.tsx';
import { Card, Facts, Page } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { inWords } from './activity.tsx';
import { sessionTones } from './sessions.tsx';
import './box.css';

export default function Session({ params }: ViewProps) {
  const { client, may } = useBox();
  const id = params.id ?? '';
  const found = useLoad(`session ${id}`, (signal) => client.sessions.get(id, { signal }), { every: 5000 });
  useOnEvents(({ type }) => type.startsWith('audit.session') || type.startsWith('graph.session'), found.reload);
  const session = found.data;
  return (
    <Page
      title={session?.label ?? id}
      before={
        <Link className="crumb" to="/box/sessions">
          Sessions
        </Link>
      }
      after={session && <Badge text={session.state} tone={sessionTones[session.state]} />}
      actions={session && may('graph:use') && <Actions session={session} onDone={found.reload} />}
    >
      <Show of={found}>
        {(data) => (
          <div className="stack">
            <Card title="About">
              <div className="inside">
                <Facts
                  of={[
                    ['Client', data.client_id],
                    ['Goal', data.goal],
                    ['Began', formatTime(data.started_at)],
                    ['Ended', data.ended_at === null ? null : formatTime(data.ended_at)],
                    ['Resumed', data.resumed === 0 ? 'never' : `${data.resumed} times`],
                    ['Files', data.path],
                  ]}
                />
              </div>
            </Card>
            {data.handoff !== null && (
              <Card title="Handed over">
                <div className="inside">
                  <Markdown text={data.handoff} />
                </div>
              </Card>
            )}
            {data.state === 'active' && may('graph:use') && <AddNote id={id} onDone={found.reload} />}
            <Card title="Timeline">
              {data.timeline.length === 0 ? <Empty small title="Nothing was noted yet" /> : <Timeline of={data.timeline} />}
            </Card>
          </div>
        )}
      </Show>
    </Page>
  );
}

/** Newest first. */
function Timeline({ of }: { readonly of: readonly SessionEvent[] }) {
  return (
    <ol className="rows timeline" aria-label="Timeline">
      {of.toReversed().map(({ ts, type, detail }, at) => {
        const { message, ...more } = detail;
        return (
          <li key={`${ts} ${of.length - at}`}>
            <Badge text={type} tone="plain" />
            <span className="wrap">{typeof message === 'string' ? message : ''}</span>
            {Object.keys(more).length > 0 && <span className="wrap faint">{inWords(more)}</span>}
            <span className="faint nowrap">
              <Ago time={ts} />
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function AddNote({ id, onDone }: { readonly id: string; onDone(): void }) {
  const { client } = useBox();
  const [message, setMessage] = useState('');
  const [type, setType] = useState('note');
  const add = useAct(async () => {
    await client.sessions.event(id, { message: message.trim(), type });
    setMessage('');
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className="add-note" onSubmit={submit}>
      <select className="input" aria-label="Kind" value={type} onChange={({ target }) => setType(target.value)}>
        {['note', 'decision', 'blocker', 'result'].map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <input
        className="input"
        aria-label="What happened"
        placeholder="What happened"
        maxLength={10_000}
        value={message}
        onChange={({ target }) => setMessage(target.value)}
      />
      <Button type="submit" busy={add.busy} disabled={message.trim() === ''}>
        Add
      </Button>
      <FailureNote failure={add.failure} />
    </form>
  );
}

function Actions({ session, onDone }: { readonly session: WorkSessionDetail; onDone(): void }) {
  const { client } = useBox();
  const [ending, setEnding] = useState(false);
  const resume = useAct(async () => {
    await client.sessions.resume(session.session_id);
    say('It goes on.');
    onDone();
  });
  return (
    <div className="filters">
      <FailureNote failure={resume.failure} />
      {session.state === 'active' ? (
        <Button onClick={() => setEnding(true)}>End</Button>
      ) : (
        <Button icon="play" busy={resume.busy} onClick={() => void resume.run()}>
          Resume
        </Button>
      )}
      {ending && <EndDialog id={session.session_id} onClose={() => setEnding(false)} onDone={onDone} />}
    </div>
  );
}

const ends = ['completed', 'failed', 'abandoned'] as const;

function EndDialog({ id, onClose, onDone }: { readonly id: string; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [state, setState] = useState<(typeof ends)[number]>('completed');
  const [summary, setSummary] = useState('');
  const end = useAct(async () => {
    await client.sessions.end(id, { state, ...(summary.trim() && { summary: summary.trim() }) });
    onClose();
    onDone();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void end.run();
  };
  return (
    <Dialog title="End this session" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <div className="choice" role="group" aria-label="How it ended">
          {ends.map((each) => (
            <button key={each} type="button" aria-pressed={each === state} onClick={() => setState(each)}>
              {each}
            </button>
          ))}
        </div>
        <Field label="Summary" hint="What the next one should know; handed over in handoff.md">
          {(control) => (
            <textarea
              {...control}
              className="input"
              rows={6}
              maxLength={20_000}
              value={summary}
              onChange={({ target }) => setSummary(target.value)}
            />
          )}
        </Field>
        <FailureNote failure={end.failure} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={end.busy}>
            End it
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
