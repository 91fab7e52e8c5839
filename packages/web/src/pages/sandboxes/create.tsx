/** A new sandbox from a template: what it asks for, how long it lives, what it reaches, and who would make it. */

import type { CreateSandbox, EgressRule, Template } from '@skillbox/sdk';
import { type FormEvent, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { useLoad } from '../../box/use-load.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { formatBytes, formatMs } from '../../parts/format.ts';
import { FailureNote, Show } from '../../parts/states.tsx';
import { say } from '../../parts/toasts.tsx';
import { navigate } from '../../router.tsx';
import { fieldsOf, InputFields, type Inputs, inputsFrom } from './input-fields.tsx';
import { NetworkFields, type NetworkWish, networkFrom } from './network-fields.tsx';
import { parsePairs } from './pairs.ts';
import { RouteList } from './route-list.tsx';

interface Props {
  readonly template?: string | undefined;
  readonly snapshot?: string | undefined;
  onClose(): void;
}

export function CreateDialog({ template, snapshot, onClose }: Props) {
  const { client, tenant } = useBox();
  const templates = useLoad(tenant, (signal) => client.templates.list({ signal }));
  return (
    <Dialog title={snapshot ? 'New sandbox from a snapshot' : 'New sandbox'} onClose={onClose}>
      <Show of={templates}>{({ items }) => <CreateForm templates={items} first={template} snapshot={snapshot} onClose={onClose} />}</Show>
    </Dialog>
  );
}

interface FormProps {
  readonly templates: readonly Template[];
  readonly first: string | undefined;
  readonly snapshot: string | undefined;
  onClose(): void;
}

function CreateForm({ templates, first, snapshot, onClose }: FormProps) {
  const { client, may } = useBox();
  const usable = templates.filter(({ admin_only }) => !admin_only || may('admin'));
  const [name, setName] = useState(
    usable.find(({ name: each }) => each === first)?.name ??
      usable.find(({ name: each }) => each === 'base')?.name ??
      usable[0]?.name ??
      '',
  );
  const [ttl, setTtl] = useState('');
  const [onExpiry, setOnExpiry] = useState<'destroy' | 'pause'>('destroy');
  const [env, setEnv] = useState('');
  const [labels, setLabels] = useState('');
  const [inputs, setInputs] = useState<Inputs>({});
  const [network, setNetwork] = useState<NetworkWish>({ mode: 'template', allow: '' });
  const template = usable.find(({ name: each }) => each === name);
  const fields = fieldsOf(template?.inputs ?? null);
  const [parsedEnv, parsedLabels] = [parsePairs(env), parsePairs(labels)];
  const given = inputsFrom(fields, inputs);
  const problems = parsedEnv.problem ?? parsedLabels.problem ?? given.problem;

  const create = useAct(async () => {
    const request: CreateSandbox = {
      ...(snapshot === undefined ? { template: name } : { snapshot }),
      ...(ttl.trim() !== '' && { ttl: ttl.trim() }),
      ...(onExpiry === 'pause' && { on_expiry: onExpiry }),
      ...(Object.keys(parsedEnv.pairs).length > 0 && { env: parsedEnv.pairs }),
      ...(Object.keys(parsedLabels.pairs).length > 0 && { labels: parsedLabels.pairs }),
      ...(snapshot === undefined && Object.keys(given.values).length > 0 && { inputs: given.values }),
      ...(network.mode !== 'template' && { network: networkFrom(network) }),
    };
    const { id } = await client.sandboxes.create(request, {
      idempotencyKey: crypto.getRandomValues(new Uint32Array(4)).join('-'),
      timeoutMs: 0,
    });
    say(`Made ${id}.`);
    navigate(`/sandboxes/${id}`);
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (problems === undefined) void create.run();
  };

  return (
    <form className="stack" onSubmit={submit}>
      {snapshot === undefined ? (
        <Field label="Template" hint={template?.description}>
          {(control) => (
            <select {...control} className="input" value={name} onChange={(event) => setName(event.target.value)}>
              {usable.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.name}
                </option>
              ))}
            </select>
          )}
        </Field>
      ) : (
        <p>
          Starts with the disk of <code>{snapshot}</code>, and its template.
        </p>
      )}
      {snapshot === undefined && template && <Promises template={template} />}
      {snapshot === undefined && <InputFields fields={fields} values={inputs} onChange={setInputs} problem={given.problem} />}
      <div className="columns">
        <Field
          label="Lives for"
          hint={template && snapshot === undefined ? `At most ${formatMs(template.ttl.max_ms)}` : 'Such as 90s, 30m or 2h'}
        >
          {(control) => (
            <input
              {...control}
              className="input"
              value={ttl}
              placeholder={template && snapshot === undefined ? formatShort(template.ttl.default_ms) : '1h'}
              onChange={(event) => setTtl(event.target.value)}
            />
          )}
        </Field>
        <Field label="After that">
          {(control) => (
            <select
              {...control}
              className="input"
              value={onExpiry}
              onChange={(event) => setOnExpiry(event.target.value as 'destroy' | 'pause')}
            >
              <option value="destroy">it is destroyed</option>
              <option value="pause">it is paused, its disk stays</option>
            </select>
          )}
        </Field>
      </div>
      <NetworkFields
        wish={network}
        onChange={setNetwork}
        mayOpen={may('admin') || (snapshot === undefined && template?.network.mode !== 'none')}
        templateSays={
          snapshot === undefined && template
            ? `${template.network.mode}${rulesText(template.network.allow)}`
            : 'as the snapshot’s template has it'
        }
      />
      <div className="columns">
        <Field label="Variables" hint="NAME=VALUE, one in a line. Kept encrypted." problem={parsedEnv.problem}>
          {(control) => (
            <textarea {...control} className="input code" rows={3} value={env} onChange={(event) => setEnv(event.target.value)} />
          )}
        </Field>
        <Field label="Labels" hint="NAME=VALUE, one in a line" problem={parsedLabels.problem}>
          {(control) => (
            <textarea {...control} className="input code" rows={3} value={labels} onChange={(event) => setLabels(event.target.value)} />
          )}
        </Field>
      </div>
      {snapshot === undefined && name !== '' && <RouteNow template={name} />}
      <FailureNote failure={create.failure} />
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="main" busy={create.busy} disabled={problems !== undefined}>
          Create
        </Button>
      </footer>
    </form>
  );
}

/** What the template promises. */
function Promises({ template: { resources, idle, price_per_hour, setup } }: { readonly template: Template }) {
  const facts = [
    `${resources.cpu} CPU`,
    `${formatBytes(resources.memory_bytes)} memory`,
    `${formatBytes(resources.disk_bytes)} disk`,
    idle.after_ms === null ? 'kept when idle' : `${idle.action === 'pause' ? 'paused' : 'destroyed'} after ${formatMs(idle.after_ms)} idle`,
    ...(price_per_hour > 0 ? [`${price_per_hour} credits an hour`] : []),
    ...(setup.length > 0 ? [`${setup.length} setup ${setup.length === 1 ? 'step' : 'steps'}`] : []),
  ];
  return <p className="faint">{facts.join(' · ')}</p>;
}

function RouteNow({ template }: { readonly template: string }) {
  const { client, tenant } = useBox();
  const route = useLoad(`${tenant} ${template}`, (signal) => client.templates.explain(template, { signal }));
  return (
    <div className="field">
      <span className="label">Who would make it now</span>
      {route.data ? (
        <RouteList route={route.data.route} />
      ) : route.failure ? (
        <span className="hint">{route.failure.message}</span>
      ) : (
        <span className="hint">…</span>
      )}
    </div>
  );
}

const rulesText = (rules: readonly EgressRule[]): string =>
  rules.length === 0 ? '' : `: ${rules.map((rule) => (typeof rule === 'string' ? rule : rule.host)).join(', ')}`;

const formatShort = (ms: number): string => (ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${Math.round(ms / 60_000)}m`);
