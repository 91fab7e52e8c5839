/** One service: how it does, and what it writes, as it writes it. */

import { useEffect, useRef, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { LogLines } from '../../parts/log-lines.ts';
import { LogView } from '../../parts/log-view.tsx';
import { Card, Facts, Page } from '../../parts/page.tsx';
import { Empty, FailureState, Loading, Show } from '../../parts/states.tsx';
import { Link } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { ServiceActions } from './actions.tsx';
import { attentionTo, itemsOf } from './items.ts';
import { factsOf } from './panel.tsx';
import { type Selection, useSelection, useStatus } from './selection.tsx';
import './box.css';

export default function Service({ params }: ViewProps) {
  const { may } = useBox();
  const id = params.id ?? '';
  const selection = useSelection();
  const status = useStatus(selection);
  const service = status.data?.services.find((each) => each.id === id);
  const item = status.data && itemsOf(status.data).find(({ key }) => key === `services/${id}`);
  const query = new URLSearchParams({ ...selection }).toString();
  return (
    <Page
      title={id}
      before={
        <Link className="crumb" to={`/box${query && `?${query}`}`}>
          Box
        </Link>
      }
      after={item && <Badge text={item.state} tone={item.tone} />}
      actions={
        service &&
        may('graph:use') && (
          <div className="filters">
            <ServiceActions service={service} selection={selection} onDone={status.reload} />
          </div>
        )
      }
    >
      <Show of={status}>
        {({ attention }) =>
          item ? (
            <div className="stack">
              {attentionTo(attention, item).map(({ message, fix }) => (
                <div key={message} className="problem-box">
                  {message}
                  {fix && <CommandLine text={fix} />}
                </div>
              ))}
              <Card title="About">
                <div className="inside">
                  <Facts of={factsOf(item, service)} />
                </div>
              </Card>
              <ServiceLog id={id} selection={selection} />
            </div>
          ) : (
            <Empty title="There is no such service" icon="search" command="skillbox status">
              <p>It may belong to another client or profile.</p>
            </Empty>
          )
        }
      </Show>
    </Page>
  );
}

const mostLines = 2000;
const everyMs = 2000;

function ServiceLog({ id, selection }: { readonly id: string; readonly selection: Selection }) {
  const { client } = useBox();
  const found = useLoad(
    `log ${id} ${JSON.stringify(selection)}`,
    (signal) => client.runtime.logs({ ...selection, service: id, lines: mostLines }, { signal }),
    { every: everyMs },
  );
  const own = found.data?.find(({ service }) => service === id);
  const lines = useLines(own?.lines);
  if (!found.data) return found.failure ? <FailureState failure={found.failure} retry={found.reload} /> : <Loading rows={8} />;
  return (
    <Card title="Log" actions={own && <span className="faint mono log-path">{own.path}</span>}>
      {lines.log.count === 0 ? (
        <Empty small title="It wrote nothing yet" />
      ) : (
        <div className="service-log">
          <LogView log={lines.log} version={lines.version} live label={`Log of ${id}`} />
        </div>
      )}
    </Card>
  );
}

/** The lines as a log, made anew only when they are others. */
function useLines(lines: readonly string[] | undefined): { readonly log: LogLines; readonly version: number } {
  const [shown, setShown] = useState(() => ({ log: new LogLines(), version: 0 }));
  const last = useRef('');
  useEffect(() => {
    const text = (lines ?? []).join('\n');
    if (text === last.current) return;
    last.current = text;
    const log = new LogLines();
    log.append(`${text}\n`, 'stdout');
    setShown(({ version }) => ({ log, version: version + 1 }));
  }, [lines]);
  return shown;
}
