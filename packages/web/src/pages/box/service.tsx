/** One service: how it does, and what it writes, as it writes it. */

import { useBox } from '../../box/box.ts';
import { Badge } from '../../parts/badge.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { LogView } from '../../parts/log-view.tsx';
import { Card, Facts, Page } from '../../parts/page.tsx';
import { Empty, FailureState, Loading, Show } from '../../parts/states.tsx';
import { Link } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { ServiceActions } from './actions.tsx';
import { attentionTo, itemsOf } from './items.ts';
import { factsOf } from './panel.tsx';
import { type Selection, useSelection, useStatus } from './selection.tsx';
import { useServiceLog } from './use-service-log.ts';
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
              <ServiceLog id={id} selection={selection} path={service?.log ?? null} />
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

function ServiceLog({ id, selection, path }: { readonly id: string; readonly selection: Selection; readonly path: string | null }) {
  const { log, version, heard, failure } = useServiceLog(id, selection);
  if (failure && !heard) return <FailureState failure={failure} />;
  if (!heard) return <Loading rows={8} />;
  return (
    <Card title="Log" actions={path !== null && <span className="faint mono log-path">{path}</span>}>
      {log.count === 0 ? (
        <Empty small title="It wrote nothing yet" />
      ) : (
        <div className="service-log">
          <LogView log={log} version={version} live label={`Log of ${id}`} />
        </div>
      )}
    </Card>
  );
}
