/** What can be done to the environment: each thing tells what it did, and what stops something asks first. */

import type { Client, ServiceStatus } from '@skillbox/sdk';
import { useState } from 'react';
import { useBox } from '../../box/box.ts';
import { beginWork, type Doing } from '../../box/works.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Menu } from '../../parts/menu.tsx';
import type { AnyReport } from './report.tsx';
import type { Selection } from './selection.tsx';
import WorkDialog from './work-dialog.tsx';

interface Deed {
  readonly title: string;
  readonly verb: string;
  /** What a person should know before; without it nothing is asked. */
  readonly warning?: string;
  work(client: Client, options: Parameters<Doing<AnyReport>>[0]): Promise<AnyReport>;
}

/** A deed that was chosen: asked for if need be, under way, and then what came of it. */
function DeedDialog({ deed, onClose, onDone }: { readonly deed: Deed; onClose(): void; onDone(): void }) {
  const { client } = useBox();
  const [work, setWork] = useState<number>();
  const begin = (): void => setWork(beginWork(deed.title, (options) => deed.work(client, options), onDone));
  if (work !== undefined) return <WorkDialog id={work} onClose={onClose} />;
  if (deed.warning !== undefined)
    return (
      <Confirm title={`${deed.title}?`} verb={deed.verb} onConfirm={begin} onClose={onClose}>
        <p>{deed.warning}</p>
      </Confirm>
    );
  return (
    <Dialog title={`${deed.title}?`} onClose={onClose}>
      <p>What is as declared already stays untouched.</p>
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" onClick={begin}>
          {deed.verb}
        </Button>
      </footer>
    </Dialog>
  );
}

export function BoxActions({ selection, onDone }: { readonly selection: Selection; onDone(): void }) {
  const [deed, setDeed] = useState<Deed>();
  const deeds: readonly (Deed & { readonly icon: 'refresh' | 'check' | 'play' | 'stop' | 'search' })[] = [
    {
      title: 'What sync would do',
      verb: 'Look',
      icon: 'search',
      work: (client, options) => client.runtime.sync({ ...selection, dry_run: true }, options),
    },
    { title: 'Sync', verb: 'Sync', icon: 'refresh', work: (client, options) => client.runtime.sync(selection, options) },
    { title: 'Run tasks', verb: 'Run', icon: 'check', work: (client, options) => client.runtime.bootstrap(selection, options) },
    { title: 'Start everything', verb: 'Start', icon: 'play', work: (client, options) => client.runtime.up(selection, options) },
    {
      title: 'Stop everything',
      verb: 'Stop',
      icon: 'stop',
      warning: 'All services stop, those that need others first, and pulse with them. The server that shows this page goes on.',
      work: (client, options) => client.runtime.down(selection, options),
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
    work: (client, options) => client.runtime.up({ ...of, ...(mode && { mode }) }, options),
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
                work: (client, options) => client.runtime.restart(of, options),
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
                work: (client, options) => client.runtime.down(of, options),
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
