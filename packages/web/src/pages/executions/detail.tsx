/** One execution: what it said, got and gave, and where its time went. */

import { type ExecutionResult, isFinal } from '@skillbox/sdk';
import { useState } from 'react';
import { failureOf, useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { copyText } from '../../parts/copy.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { formatBytes, formatMs } from '../../parts/format.ts';
import { JsonTree } from '../../parts/json-tree.tsx';
import { LogView } from '../../parts/log-view.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Page } from '../../parts/page.tsx';
import { Empty, FailureNote, Show } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toasts.tsx';
import { Link, navigate } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { Artifacts } from './artifacts.tsx';
import { RunAgain } from './run-again.tsx';
import { languages, snippet } from './snippets.ts';
import { Timings } from './timings.tsx';
import { useLog } from './use-log.ts';
import './executions.css';

export default function ExecutionPage({ params }: ViewProps) {
  const { client, tenant } = useBox();
  const id = params.id ?? '';
  const record = useLoad(`${tenant} ${id}`, (signal) => client.executions.get(id, { signal }));
  const { data } = record;
  return (
    <Page
      title={data?.skill_name ?? id.slice(0, 8)}
      full
      before={
        <Link className="crumb" to="/executions">
          Executions /
        </Link>
      }
      after={data && <Badge text={data.status} />}
      actions={data && <Actions record={data} onChanged={record.reload} />}
    >
      <Show of={record}>{(execution) => <Detail key={id} record={execution} onEnd={record.reload} />}</Show>
    </Page>
  );
}

function Detail({ record, onEnd }: { readonly record: ExecutionResult; onEnd(): void }) {
  const { log, version, live } = useLog(record.execution_id, () => !isFinal(record.status) && onEnd());
  const files = record.files_list.length;
  return (
    <>
      <FactStrip record={record} />
      {record.error && (
        <div className="exec-error problem-box" role="alert">
          {record.error.code}: {record.error.message}
        </div>
      )}
      <div className="exec-detail">
        <Tabs
          label="Parts of the execution"
          tabs={[
            { id: 'log', title: 'Log', show: () => <LogView log={log} version={version} live={live} label="Log of the execution" /> },
            { id: 'output', title: 'Output', show: () => <Json value={record.output} label="output" ended={isFinal(record.status)} /> },
            { id: 'input', title: 'Input', show: () => <Json value={record.input} label="input" ended /> },
            {
              id: 'files',
              title: `Files${files > 0 ? ` (${files})` : ''}`,
              show: () => (files > 0 ? <Artifacts record={record} /> : <Empty title="It left no files" icon="file" />),
            },
            { id: 'timings', title: 'Timings', show: () => <Timings record={record} /> },
          ]}
        />
      </div>
    </>
  );
}

function Json({ value, label, ended }: { readonly value: unknown; readonly label: string; readonly ended: boolean }) {
  if (value === null) return <Empty title={ended ? `It has no ${label}` : 'Not yet: it has not ended'} />;
  return (
    <div className="pad">
      <JsonTree value={value} label={label} />
    </div>
  );
}

function FactStrip({ record }: { readonly record: ExecutionResult }) {
  const facts: [string, React.ReactNode][] = [
    ['Id', <code key="id">{record.execution_id}</code>],
    ['Version', record.skill_version],
    ['Started', <Ago key="ago" time={record.created_at} />],
    ['Took', formatMs(record.duration_ms)],
    ['Waited', formatMs(record.queued_ms)],
    ['Memory', formatBytes(record.peak_memory_bytes)],
    ['CPU', formatMs(record.cpu_ms)],
    ['Exit', record.signal ?? record.exit_code ?? '–'],
    ['Sandbox', record.warm === null ? (record.provider ?? '–') : record.warm ? 'stood ready' : 'made for it'],
    ['Tenant', record.tenant_id],
  ];
  return (
    <dl className="exec-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Actions({ record, onChanged }: { readonly record: ExecutionResult; onChanged(): void }) {
  const { client, may } = useBox();
  const [open, setOpen] = useState<'again' | 'delete'>();
  const cancel = useAct(async () => {
    await client.executions.cancel(record.execution_id);
    onChanged();
  });
  const remove = useAct(async () => {
    await client.executions.delete(record.execution_id);
    say('Deleted.');
    navigate('/executions', { replace: true });
  });
  const copy = async (language: (typeof languages)[number]): Promise<void> => {
    const { skill_name: skill, skill_version: version, input } = record;
    await copyText(snippet(language, { url: location.origin, skill, version, input })).catch((error) => complain(failureOf(error)));
    say(`Copied for ${language}.`);
  };
  const mayRun = may('executions:run');
  return (
    <>
      <Menu title="Copy as" items={languages.map((language) => ({ title: language, act: () => void copy(language) }))} />
      {mayRun && !isFinal(record.status) && (
        <Button kind="danger" icon="stop" busy={cancel.busy} onClick={() => void cancel.run()}>
          Cancel
        </Button>
      )}
      {mayRun && (
        <Button icon="refresh" onClick={() => setOpen('again')}>
          Run again
        </Button>
      )}
      {mayRun && isFinal(record.status) && <Button kind="quiet" icon="trash" label="Delete" onClick={() => setOpen('delete')} />}
      <FailureNote failure={cancel.failure} />
      {open === 'again' && <RunAgain record={record} onClose={() => setOpen(undefined)} />}
      {open === 'delete' && (
        <Confirm
          title="Delete this execution?"
          verb="Delete"
          busy={remove.busy}
          onConfirm={() => void remove.run()}
          onClose={() => setOpen(undefined)}
        >
          <p>Its record, its log and its files go. This cannot be undone.</p>
          <FailureNote failure={remove.failure} />
        </Confirm>
      )}
    </>
  );
}
