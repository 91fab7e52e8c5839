/** The supervisor: what it sees, what it did, and its history. */

import type { BoxEvent, PulseStatus } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents, useRecentEvents } from '../../box/live.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { ConfirmAct } from '../../parts/dialog.tsx';
import { Card, Facts } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link } from '../../router.tsx';
import { Activity, type Happened } from './activity.tsx';
import { toneOfState } from './items.ts';

const everyMs = 4000;

export function Pulse() {
  const { client, may } = useBox();
  const found = useLoad('pulse', (signal) => client.runtime.pulse({ signal }), { every: everyMs });
  const [stopping, setStopping] = useState(false);
  const start = useAct(async () => {
    await client.runtime.startPulse();
    found.reload();
  });
  const stop = async (): Promise<void> => {
    await client.runtime.stopPulse();
    setStopping(false);
    found.reload();
  };
  return (
    <>
      <Show of={found}>
        {(pulse) => (
          <Card
            title={pulse.running ? 'Pulse keeps the environment alive' : 'Pulse does not run'}
            actions={
              may('graph:use') &&
              (pulse.running ? (
                <Button icon="stop" onClick={() => setStopping(true)}>
                  Stop
                </Button>
              ) : (
                <Button kind="main" icon="play" busy={start.busy} onClick={() => void start.run()}>
                  Start
                </Button>
              ))
            }
          >
            <div className="inside stack">
              <FailureNote failure={start.failure} />
              <Figures of={pulse} />
              <h3 className="faint">{pulse.running ? 'What it sees' : 'What it saw last'}</h3>
              <States of={pulse} />
            </div>
          </Card>
        )}
      </Show>
      <History />
      {stopping && (
        <ConfirmAct title="Stop pulse?" verb="Stop" act={stop} onClose={() => setStopping(false)}>
          <p>Services go on, and nobody starts them again when they fall.</p>
        </ConfirmAct>
      )}
    </>
  );
}

function Figures({ of }: { readonly of: PulseStatus }) {
  return (
    <Facts
      of={[
        ['State', <Badge key="state" text={of.running ? `running, pid ${of.pid}` : 'not running'} tone={of.running ? 'good' : 'warn'} />],
        ['Looked', of.updated_at === null ? 'never' : <Ago key="looked" time={of.updated_at} />],
        ['Looks every', `${of.interval} s; a process that ends is seen at once`],
        ['Whole looks', of.cycle_count],
        ['Restarts', of.heals],
        ['Events written', of.events_emitted],
        ['Config', of.config_hash],
        ['Gave up on', of.given_up.length === 0 ? 'nothing' : of.given_up.join(', ')],
      ]}
    />
  );
}

function States({ of }: { readonly of: PulseStatus }) {
  const services = Object.entries(of.service_states);
  const checks = Object.entries(of.check_states);
  if (services.length + checks.length === 0) return <Empty small title="It watches nothing yet" command="skillbox up" />;
  return (
    <ul className="rows watched" aria-label="Watched">
      {services.map(([id, state]) => (
        <li key={`service ${id}`}>
          <Badge text={state} tone={toneOfState(state)} />
          <Link to={`/box/services/${encodeURIComponent(id)}`}>{id}</Link>
          {of.next_attempts[id] && (
            <span className="wrap">next attempt at {new Date(of.next_attempts[id]).toLocaleTimeString('en-GB')}</span>
          )}
          {of.given_up.includes(id) && <span className="wrap bad">given up: start it again when the cause is gone</span>}
        </li>
      ))}
      {checks.map(([id, state]) => (
        <li key={`check ${id}`}>
          <Badge text={state} tone={toneOfState(state)} />
          <span>{id}</span>
          <span className="wrap faint">check</span>
        </li>
      ))}
    </ul>
  );
}

const isGraph = ({ type }: BoxEvent): boolean => type.startsWith('graph.');

/** The whole history for administrators; for others what happened while the page was open, and shortly before. */
function History() {
  const { client, may } = useBox();
  const admin = may('admin');
  const recent = useRecentEvents().filter(isGraph);
  const found = useLoad(`graph events ${admin}`, async (signal) =>
    admin ? (await client.events.list({ type: 'graph.', limit: 100 }, { signal })).items : [],
  );
  useOnEvents(isGraph, found.reload);
  const events = (admin ? (found.data ?? []) : recent).map(happened);
  const restarts = new Map<string, number>();
  for (const { type, subject } of events) if (/restart/.test(type)) restarts.set(subject, (restarts.get(subject) ?? 0) + 1);
  return (
    <Card title="History" actions={<span className="faint">live</span>}>
      {restarts.size > 0 && (
        <p className="inside faint">
          Restarts of late:{' '}
          {[...restarts]
            .toSorted(([, one], [, other]) => other - one)
            .slice(0, 8)
            .map(([subject, count]) => `${subject} ${count}`)
            .join(', ')}
        </p>
      )}
      <Show of={found} rows={4}>
        {() => <Activity of={events} />}
      </Show>
    </Card>
  );
}

const happened = ({ time, type, subject, data }: BoxEvent): Happened => ({ time, type, subject: subject.id, data });
