/** What can be done to the environment: each thing tells what it did, and what stops something asks first. */

import type { BootstrapReport, Client, DownReport, ServiceStatus, SyncReport, UpReport } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Menu } from '../../parts/menu.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { Report } from './report.tsx';
import type { Selection } from './selection.tsx';

export type AnyReport = SyncReport | BootstrapReport | UpReport | DownReport;

interface Deed {
  readonly title: string;
  readonly verb: string;
  /** What a person should know before; without it nothing is asked. */
  readonly warning?: string;
  work(client: Client): Promise<AnyReport>;
}

/** A deed that was chosen: asked for if need be, under way, and then what came of it. */
function DeedDialog({ deed, onClose, onDone }: { readonly deed: Deed; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [report, setReport] = useState<AnyReport>();
  const act = useAct(async () => {
    setReport(await deed.work(client));
    onDone();
  });
  if (report)
    return (
      <Dialog title={deed.title} onClose={onClose}>
        <Report of={report} />
        <footer>
          <Button kind="main" onClick={onClose}>
            Close
          </Button>
        </footer>
      </Dialog>
    );
  if (deed.warning !== undefined)
    return (
      <Confirm title={`${deed.title}?`} verb={deed.verb} busy={act.busy} onConfirm={() => void act.run()} onClose={onClose}>
        <p>{deed.warning}</p>
        <FailureNote failure={act.failure} />
      </Confirm>
    );
  return (
    <Dialog title={`${deed.title}?`} onClose={onClose}>
      <p>What is as declared already stays untouched.</p>
      <FailureNote failure={act.failure} />
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" busy={act.busy} onClick={() => void act.run()}>
          {deed.verb}
        </Button>
      </footer>
    </Dialog>
  );
}

export function BoxActions({ selection, onDone }: { readonly selection: Selection; onDone(): void }) {
  const [deed, setDeed] = useState<Deed>();
  const deeds: readonly (Deed & { readonly icon: 'refresh' | 'check' | 'play' | 'stop' | 'search' })[] = [
    { title: 'What sync would do', verb: 'Look', icon: 'search', work: (client) => client.runtime.sync({ ...selection, dry_run: true }) },
    { title: 'Sync', verb: 'Sync', icon: 'refresh', work: (client) => client.runtime.sync(selection) },
    { title: 'Run tasks', verb: 'Run', icon: 'check', work: (client) => client.runtime.bootstrap(selection) },
    { title: 'Start everything', verb: 'Start', icon: 'play', work: (client) => client.runtime.up(selection) },
    {
      title: 'Stop everything',
      verb: 'Stop',
      icon: 'stop',
      warning: 'All services stop, those that need others first, and pulse with them. The server that shows this page goes on.',
      work: (client) => client.runtime.down(selection),
    },
  ];
  return (
    <>
      <Menu title="Act" items={deeds.map((each) => ({ title: each.title, icon: each.icon, act: () => setDeed(each) }))} />
      {deed && <DeedDialog key={deed.title} deed={deed} onClose={() => setDeed(undefined)} onDone={onDone} />}
    </>
  );
}

/** The server itself is not stopped from its own page. */
const ownServer = 'api';

export function ServiceActions({
  service,
  selection,
  onDone,
}: {
  readonly service: ServiceStatus;
  readonly selection: Selection;
  onDone(): void;
}) {
  const [deed, setDeed] = useState<Deed>();
  const { id, pid, modes } = service;
  if (modes.length === 0 || id === ownServer) return <span className="faint">managed elsewhere</span>;
  const of = { ...selection, service: id };
  const start = (mode: ServiceStatus['modes'][number] | undefined): Deed => ({
    title: mode === undefined ? `Start ${id}` : `Start ${id} (${mode})`,
    verb: 'Start',
    work: (client) => client.runtime.up({ ...of, ...(mode && { mode }) }),
  });
  return (
    <>
      {pid === null && (
        <Button icon="play" kind="main" onClick={() => setDeed(start(modes.includes('reuse') ? undefined : modes[0]))}>
          Start
        </Button>
      )}
      {pid === null && modes.length > 1 && (
        <Menu title="Mode" items={modes.map((mode) => ({ title: mode, act: () => setDeed(start(mode)) }))} />
      )}
      {pid !== null && (
        <>
          <Button
            icon="refresh"
            onClick={() =>
              setDeed({
                title: `Restart ${id}`,
                verb: 'Restart',
                warning: `${id} and what needs it stop and start again.`,
                work: (client) => client.runtime.restart(of),
              })
            }
          >
            Restart
          </Button>
          <Button
            icon="stop"
            onClick={() =>
              setDeed({
                title: `Stop ${id}`,
                verb: 'Stop',
                warning: `${id} stops, and before it what needs it. Pulse does not start it again.`,
                work: (client) => client.runtime.down(of),
              })
            }
          >
            Stop
          </Button>
        </>
      )}
      {deed && <DeedDialog key={deed.title} deed={deed} onClose={() => setDeed(undefined)} onDone={onDone} />}
    </>
  );
}
