/** Activate a client: what each step did, what needs attention, and what agents are told. */

import type { FocusReport, LastFocus } from '@skillbox/sdk';
import type { FormEvent } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { beginWork, useWorks } from '../../box/works.ts';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { formatMs, formatTime } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { say } from '../../parts/toasts.tsx';
import { Link, useQuery } from '../../router.tsx';
import { Activity } from './activity.tsx';
import { AttentionCard } from './attention.tsx';
import { toneOfState } from './items.ts';
import { serviceAddress } from './panel.tsx';
import { useSelection, useStatus } from './selection.tsx';
import { Timeline } from './timeline.tsx';
import { End } from './work-dialog.tsx';

export function Focus() {
  const { may } = useBox();
  const selection = useSelection();
  const status = useStatus(selection);
  // The newest, which another page may have been looked at in between.
  const work = useWorks().findLast(({ title }) => title.startsWith(focusTitle));
  const report = work?.report as FocusReport | undefined;
  return (
    <>
      {may('graph:use') && <FocusForm busy={work !== undefined && work.until === undefined} onFocused={status.reload} />}
      {work && !report && (
        <Card title={work.title}>
          <div className="inside">
            <End work={work} />
            <Timeline work={work} />
            <FailureNote failure={work.failure} />
          </div>
        </Card>
      )}
      {report ? (
        <Focused report={report} />
      ) : (
        <Show of={status}>
          {({ attention, client, focus }) => (
            <>
              <h2>{client === null ? 'The box now' : `Client ${client} now`}</h2>
              <AttentionCard attention={attention} />
              {focus && <Last focus={focus} />}
            </>
          )}
        </Show>
      )}
    </>
  );
}

const focusTitle = 'Focus';

/** What was focused before this page was opened, by whomever. */
function Last({ focus }: { readonly focus: LastFocus }) {
  return (
    <section aria-label="Last focus" className="stack">
      <h2>
        {focus.ok ? 'Last focused on' : 'Last tried to focus on'} {focus.client} <Ago time={focus.focused_at} />
      </h2>
      <p className="faint">
        {[`mode ${focus.mode}`, ...focus.profiles.map((name) => `profile ${name}`), ...focus.services.map((id) => `service ${id}`)].join(
          ', ',
        )}
      </p>
      <Steps steps={focus.steps} title="Steps" />
      <Repos repos={focus.repos} />
      <Found of={focus} />
    </section>
  );
}

function FocusForm({ busy, onFocused }: { readonly busy: boolean; onFocused(): void }) {
  const { client } = useBox();
  const [query, change] = useQuery();
  const model = useLoad('describe', (signal) => client.runtime.describe({ signal }));
  const clients = model.data?.clients ?? [];
  const chosen = query.get('client') ?? clients[0] ?? '';
  const profile = query.get('profile') ?? '';
  const focus = (resume: boolean): void => {
    const asked = resume ? { resume } : { client_id: chosen, ...(profile && { profile }) };
    beginWork(
      resume ? `${focusTitle} on the last client` : `${focusTitle} on ${chosen}`,
      (options) => client.runtime.focus(asked, options),
      onFocused,
    );
  };
  const context = useAct(async () => {
    const { files, bytes } = await client.runtime.context({ ...(chosen && { client: chosen }), ...(profile && { profile }) });
    const changed = files.filter((file) => file.changed).length;
    say(changed === 0 ? `The context is as it should be (${bytes} bytes).` : `Wrote ${changed} of ${files.length} files, ${bytes} bytes.`);
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    focus(false);
  };
  if (model.data && clients.length === 0)
    return (
      <Empty title="There is no client yet" icon="branch" command="skillbox describe">
        <p>
          A client is an overlay: <code>overlay.yaml</code> in a folder of its name under the clients root. Describe shows where that is.
        </p>
      </Empty>
    );
  return (
    <Card title="Focus">
      <form className="inside form" onSubmit={submit}>
        <div className="two">
          <Field label="Client">
            {(control) => (
              <select {...control} className="input" value={chosen} onChange={({ target }) => change({ client: target.value })}>
                {clients.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Profiles" hint="With commas between them; core is always on">
            {(control) => (
              <input
                {...control}
                className="input"
                placeholder="local-core"
                value={profile}
                onChange={({ target }) => change({ profile: target.value.trim() })}
              />
            )}
          </Field>
        </div>
        <p className="faint">Syncs, runs tasks, starts services, collects what is going on, and writes what agents read, in one pass.</p>
        <FailureNote failure={context.failure} />
        <div className="cluster">
          <Button kind="main" type="submit" busy={busy} disabled={chosen === ''}>
            Focus
          </Button>
          <Button busy={busy} onClick={() => focus(true)}>
            Resume the last one
          </Button>
          <Button kind="quiet" busy={context.busy} onClick={() => void context.run()}>
            Only write the context
          </Button>
        </div>
      </form>
    </Card>
  );
}

const stepTones: Readonly<Record<string, Tone>> = { done: 'good', unchanged: 'plain', failed: 'bad', skipped: 'warn' };

function Focused({ report }: { readonly report: FocusReport }) {
  const selection = { client: report.client, profile: report.profiles.filter((profile) => profile !== 'core').join(',') };
  return (
    <>
      <h2>
        {report.ok ? 'Focused on' : 'Not all went well for'} {report.client} <span className="faint">{formatTime(report.focused_at)}</span>
      </h2>
      <AttentionCard attention={report.attention} />
      <Steps steps={report.steps} title={report.resumed ? 'Steps, as far as they were needed' : 'Steps'} />
      <div className="grid-two">
        <Card title="Services">
          {report.services.length === 0 ? (
            <Empty small title="None is declared" />
          ) : (
            <ul className="rows" aria-label="Services">
              {report.services.map(({ id, state, pid, detail }) => (
                <li key={id}>
                  <Badge text={state} tone={toneOfState(state)} />
                  <Link to={serviceAddress(id, selection)}>{id}</Link>
                  <span className="wrap">{detail ?? (pid === null ? '' : `pid ${pid}`)}</span>
                </li>
              ))}
            </ul>
          )}
        </Card>
        <Repos repos={report.repos} />
      </div>
      <Found of={report} />
    </>
  );
}

function Steps({ steps, title }: { readonly steps: FocusReport['steps']; readonly title: string }) {
  return (
    <Card title={title}>
      <ul className="rows" aria-label="Steps">
        {steps.map(({ step, result, duration_ms, detail }) => (
          <li key={step}>
            <Badge text={result} tone={stepTones[result] ?? 'plain'} />
            <strong>{step}</strong>
            <span className="wrap">{detail ?? ''}</span>
            <span className="faint">{formatMs(duration_ms)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Repos({ repos }: Pick<FocusReport, 'repos'>) {
  return (
    <Card title="Repos">
      {repos.length === 0 ? (
        <Empty small title="None is declared" />
      ) : (
        <ul className="rows" aria-label="Repos">
          {repos.map(({ id, branch, dirty, last_commit }) => (
            <li key={id}>
              <strong>{id}</strong>
              {branch !== null && <Badge text={branch} tone="plain" />}
              {dirty !== null && dirty > 0 && <Badge text={`${dirty} changed`} tone="warn" />}
              <span className="wrap">{last_commit ?? ''}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** What was found beside the states of services and repos. */
function Found({ of: { errors, activity, context } }: { readonly of: Pick<FocusReport, 'errors' | 'activity' | 'context'> }) {
  return (
    <>
      {errors.length > 0 && (
        <Card title="Errors in logs">
          <ul className="rows" aria-label="Errors in logs">
            {errors.map(({ log, line }) => (
              <li key={`${log} ${line}`}>
                <strong>{log}</strong>
                <code className="wrap">{line}</code>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Card title="Recent activity">
        <Activity of={activity} />
      </Card>
      <Card title="What agents read">
        <ul className="rows" aria-label="What agents read">
          {context.map((path) => (
            <li key={path}>
              <code className="wrap">{path}</code>
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}
