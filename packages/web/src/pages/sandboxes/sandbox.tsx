/** One sandbox: what it is, what runs and lies in it, and what can be done to it. */

import type { Sandbox } from '@skillbox/sdk';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Page } from '../../parts/page.tsx';
import { Empty, FailureNote, Loading, Show } from '../../parts/states.tsx';
import { type Tab, Tabs } from '../../parts/tabs.tsx';
import { Link } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { AboutTab } from './about-tab.tsx';
import { Actions } from './actions.tsx';
import { Countdown } from './countdown.tsx';
import { DisksTab } from './disks-tab.tsx';
import { EventsTab } from './events-tab.tsx';
import { FilesTab } from './files-tab.tsx';
import { MetricsTab } from './metrics-tab.tsx';
import { PortsTab } from './ports-tab.tsx';
import { ProgramsTab } from './programs-tab.tsx';
import './sandboxes.css';

/** Large, and not everybody's: fetched by who opens it. */
const TerminalTab = lazy(() => import('./terminal-tab.tsx'));

export default function SandboxPage({ params: { id = '' } }: ViewProps) {
  const { client, tenant, may } = useBox();
  const found = useLoad(`${tenant} ${id}`, (signal) => client.sandbox(id).get({ signal }));
  useOnEvents(({ subject }) => subject.id === id, found.reload);
  const sandbox = found.data;
  /** From the moment it is asked for nothing may look inside: that would wake it again. */
  const [pausing, setPausing] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another state is what was waited for.
  useEffect(() => setPausing(false), [sandbox?.state]);
  return (
    <Page
      full
      title={id}
      before={
        <span className="crumb">
          <Link to="/sandboxes">Sandboxes</Link> /
        </span>
      }
      after={
        <>
          <CopyButton text={id} label="Copy the id" />
          {sandbox && <Badge text={sandbox.state} />}
          {sandbox?.expires_at && sandbox.ended_at === null && (
            <span className="ends">
              ends in <Countdown until={sandbox.expires_at} />
            </span>
          )}
        </>
      }
      actions={sandbox && may('sandboxes:use') && <Actions sandbox={sandbox} onPausing={setPausing} onDone={found.reload} />}
    >
      <Show of={found}>{(data) => <Inside key={data.id} sandbox={data} pausing={pausing} reload={found.reload} />}</Show>
    </Page>
  );
}

function Inside({ sandbox, pausing, reload }: { readonly sandbox: Sandbox; readonly pausing: boolean; reload(): void }) {
  const { may } = useBox();
  const awake = (show: () => ReactNode) => () => (
    <Awake sandbox={sandbox} pausing={pausing} reload={reload}>
      {show}
    </Awake>
  );
  const tabs: Tab[] = [
    { id: 'about', title: 'About', show: () => <AboutTab sandbox={sandbox} reload={reload} /> },
    ...(may('sandboxes:use')
      ? [
          {
            id: 'terminal',
            title: 'Terminal',
            show: awake(() => (
              <Suspense fallback={<Loading />}>
                <TerminalTab id={sandbox.id} />
              </Suspense>
            )),
          },
        ]
      : []),
    { id: 'files', title: 'Files', show: awake(() => <FilesTab id={sandbox.id} />) },
    { id: 'programs', title: 'Programs', show: awake(() => <ProgramsTab id={sandbox.id} />) },
    { id: 'ports', title: 'Ports', show: awake(() => <PortsTab sandbox={sandbox} />) },
    { id: 'metrics', title: 'Metrics', show: awake(() => <MetricsTab sandbox={sandbox} />) },
    { id: 'disks', title: 'Snapshots', show: () => <DisksTab sandbox={sandbox} reload={reload} /> },
    { id: 'events', title: 'Events', show: () => <EventsTab id={sandbox.id} /> },
  ];
  return (
    <div className="sandbox">
      <Tabs tabs={tabs} label="Parts of the sandbox" />
    </div>
  );
}

interface AwakeProps {
  readonly sandbox: Sandbox;
  readonly pausing: boolean;
  reload(): void;
  children(): ReactNode;
}

/** Looking inside would wake a paused one: that is for the person to decide. */
function Awake({ sandbox, pausing, reload, children }: AwakeProps) {
  const { client, may } = useBox();
  const resume = useAct(async () => {
    await client.sandbox(sandbox.id).resume();
    reload();
  });
  if (sandbox.state === 'ready') return pausing ? <Loading /> : children();
  if (sandbox.state === 'paused')
    return (
      <Empty title="It is paused" icon="pause" command={`skillbox sandbox resume ${sandbox.id}`}>
        <p>{pauseText[sandbox.pause_cause ?? 'asked']} Its disk is as it was; what ran has ended.</p>
        {may('sandboxes:use') && (
          <Button kind="main" icon="play" busy={resume.busy} onClick={() => void resume.run()}>
            Resume
          </Button>
        )}
        <FailureNote failure={resume.failure} />
      </Empty>
    );
  if (sandbox.ended_at === null) return <Loading />;
  return (
    <Empty title={`It is ${sandbox.state}`} icon="box" command={`skillbox sandbox recreate ${sandbox.id}`}>
      {sandbox.reason && <p>{sandbox.reason}</p>}
      <p>There is nothing left to look into. Recreate gives it a fresh disk under the same id.</p>
    </Empty>
  );
}

const pauseText = { asked: 'Somebody asked for it.', idle: 'Nothing used it for a while.', expired: 'Its time was over.' } as const;
