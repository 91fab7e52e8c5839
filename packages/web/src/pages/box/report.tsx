/** What was done to the environment: a line for each, with the last words of what failed. */

import type { BootstrapReport, DownReport, GraphAction, ServiceOutcome, SyncReport, TaskOutcome, UpReport } from '@skillbox/sdk';
import { Badge, type Tone } from '../../parts/badge.tsx';
import { formatMs } from '../../parts/format.ts';

export type AnyReport = SyncReport | BootstrapReport | UpReport | DownReport;

const tones: Readonly<Record<string, Tone>> = {
  ...{ done: 'good', started: 'good', stopped: 'good', ready: 'plain' },
  ...{ planned: 'busy', 'dry-run': 'busy' },
  ...{ skipped: 'warn', killed: 'warn' },
  ...{ failed: 'bad', blocked: 'bad', timeout: 'bad', stuck: 'bad' },
};
const toneOfResult = (result: string): Tone => tones[result] ?? 'plain';

export function Report({ of }: { readonly of: AnyReport }) {
  const sync: SyncReport | undefined = 'actions' in of ? of : 'sync' in of ? of.sync : undefined;
  const actions = sync?.actions.filter(({ result }) => result !== 'unchanged') ?? [];
  const tasks = 'tasks' in of ? of.tasks : [];
  const services = 'services' in of ? of.services : [];
  const same = (sync?.actions.length ?? 0) - actions.length;
  if (actions.length + tasks.length + services.length === 0)
    return <p role="status">Nothing to do{same > 0 ? `: ${same} items are as declared.` : '.'}</p>;
  return (
    <ul className="rows report" aria-label="What was done">
      {actions.map((action) => (
        <Action key={`${action.section} ${action.id} ${action.action}`} of={action} />
      ))}
      {tasks.map((task) => (
        <Outcome key={`task ${task.id}`} name={`task ${task.id}`} of={task} />
      ))}
      {services.map((service) => (
        <Outcome key={service.id} name={service.id} of={service} />
      ))}
    </ul>
  );
}

function Action({ of: { section, id, action, result, detail, path, error } }: { readonly of: GraphAction }) {
  return (
    <li>
      <Badge text={result} tone={toneOfResult(result)} />
      <strong>
        {action} {section}/{id}
      </strong>
      <span className="wrap">{error?.message ?? detail ?? path ?? ''}</span>
      {error && <small className="faint">{error.hint}</small>}
    </li>
  );
}

function Outcome({
  name,
  of: { result, duration_ms, detail, error, tail },
}: {
  readonly name: string;
  readonly of: TaskOutcome | ServiceOutcome;
}) {
  return (
    <li>
      <Badge text={result} tone={toneOfResult(result)} />
      <strong>{name}</strong>
      <span className="wrap">
        {detail ?? error?.message ?? ''} {duration_ms >= 1 && <span className="faint">{formatMs(duration_ms)}</span>}
      </span>
      {error && <small className="faint">{error.hint}</small>}
      {tail.length > 0 && (
        <pre className="tail" tabIndex={0}>
          {tail.join('\n')}
        </pre>
      )}
    </li>
  );
}
