/** Runs a skill with what was typed: a form from its input schema, or JSON, and files. */

import type { ExecutionResult, Skill } from '@skillbox/sdk';
import { type FormEvent, useId, useMemo, useState } from 'react';
import { useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { formatBytes, formatMs } from '../../parts/format.ts';
import { JsonTree } from '../../parts/json-tree.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty, FailureNote } from '../../parts/states.tsx';
import { Link } from '../../router.tsx';
import { type Draft, draftOf, readDraft } from './draft.ts';
import { SchemaFields } from './schema-form.tsx';
import { shapeOf } from './schema-shape.ts';

export function TryIt({ skill }: { readonly skill: Skill }) {
  const { client, may } = useBox();
  const shape = useMemo(() => shapeOf(skill.input_schema), [skill]);
  const [draft, setDraft] = useState<Draft>(() => draftOf(shape));
  /** Undefined: the form is used. */
  const [json, setJson] = useState<string>();
  const [files, setFiles] = useState<readonly File[]>([]);
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [running, setRunning] = useState<string>();
  const [result, setResult] = useState<ExecutionResult>();
  const asJson = json !== undefined || shape.kind === 'json';

  const run = useAct(async (input: unknown) => {
    const packed = Object.fromEntries(await Promise.all(files.map(async (file) => [file.name, await base64(file)] as const)));
    const started = await client.executions.submit({ skill: skill.name, version: skill.version, input, files: packed });
    setRunning(started.execution_id);
    setResult(started.finished ? started : await client.executions.wait(started.execution_id));
    setRunning(undefined);
  });
  const remote = problemsOf(run.failure?.details);
  const shown = { ...remote, ...problems };

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setResult(undefined);
    setRunning(undefined);
    run.clear();
    const { value, problems: found } = asJson ? readJson(json ?? (typeof draft === 'string' ? draft : '')) : readDraft(shape, draft);
    setProblems(found);
    if (Object.keys(found).length === 0) void run.run(value ?? {});
  };
  const change = (next: Draft): void => {
    setDraft(next);
    setProblems({});
    run.clear();
  };
  const toJson = (): void => {
    setJson(JSON.stringify(readDraft(shape, draft).value ?? {}, null, 2));
    setProblems({});
  };
  const toForm = (): void => {
    const read = readJson(json ?? '');
    setProblems(read.problems);
    if (Object.keys(read.problems).length > 0) return;
    setDraft(draftOf(shape, read.value));
    setJson(undefined);
  };

  if (skill.mode !== 'executable')
    return <Empty title="This skill is instructions only" icon="book" command={`skillbox skill show ${skill.name}`} />;
  if (!may('executions:run'))
    return <Empty title="This key cannot run skills" icon="key" command="skillbox key create runner --scopes executions:run" />;
  return (
    <div className="try-it">
      <Card
        title="Input"
        actions={
          shape.kind !== 'json' && (
            <Button kind="quiet" onClick={asJson ? toForm : toJson}>
              {asJson ? 'As a form' : 'As JSON'}
            </Button>
          )
        }
      >
        <form className="inside form" onSubmit={submit} noValidate aria-label="Input">
          {asJson ? (
            <Field label="Input as JSON" problem={shown[''] ?? first(shown)}>
              {(control) => (
                <textarea
                  {...control}
                  className="input code"
                  rows={12}
                  spellCheck={false}
                  value={json ?? (typeof draft === 'string' ? draft : '')}
                  placeholder="{}"
                  onChange={({ target }) => {
                    setJson(target.value);
                    setProblems({});
                  }}
                />
              )}
            </Field>
          ) : (
            <SchemaFields shape={shape} draft={draft} name="input" required path="" problems={shown} onChange={change} />
          )}
          <Files files={files} onChange={setFiles} />
          <FailureNote failure={run.failure} />
          <div className="cluster">
            <Button kind="main" icon="play" type="submit" busy={run.busy}>
              Run {skill.name} {skill.version}
            </Button>
            {running && <Link to={`/executions/${running}`}>Watch it run</Link>}
          </div>
        </form>
      </Card>
      <Card title="Result" actions={result && <Badge text={result.status} />}>
        <div className="inside form" aria-live="polite">
          {result ? <Result of={result} /> : <Empty small title={run.busy ? 'It runs' : 'Nothing ran yet'} />}
        </div>
      </Card>
    </div>
  );
}

function Files({ files, onChange }: { readonly files: readonly File[]; onChange(files: readonly File[]): void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Input files</label>
      <input
        id={id}
        type="file"
        multiple
        className="input"
        onChange={({ target }) => {
          onChange([
            ...files.filter(({ name }) => ![...(target.files ?? [])].some((added) => added.name === name)),
            ...(target.files ?? []),
          ]);
          target.value = '';
        }}
      />
      {files.length > 0 && (
        <ul className="file-list">
          {files.map((file) => (
            <li key={file.name}>
              <span className="mono">{file.name}</span> <span className="faint">{formatBytes(file.size)}</span>
              <Button
                kind="quiet"
                icon="close"
                label={`Leave ${file.name} out`}
                onClick={() => onChange(files.filter((each) => each !== file))}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Result({ of }: { readonly of: ExecutionResult }) {
  const { execution_id, error, output, files_list, duration_ms } = of;
  return (
    <>
      <p>
        <Link to={`/executions/${execution_id}`}>Execution {execution_id.slice(0, 8)}</Link>{' '}
        <span className="faint">{formatMs(duration_ms)}</span>
      </p>
      {error && (
        <div className="problem-box" role="alert">
          {error.message}
          <small>{error.code}</small>
        </div>
      )}
      {output !== null && output !== undefined && <JsonTree value={output} label="output" />}
      {files_list.length > 0 && (
        <ul className="file-list" aria-label="Artifacts">
          {files_list.map(({ path, size }) => (
            <li key={path}>
              <Link className="mono" to={`/executions/${execution_id}?tab=files`}>
                {path}
              </Link>{' '}
              <span className="faint">{formatBytes(size)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function readJson(text: string): { value: unknown; problems: Readonly<Record<string, string>> } {
  return readDraft({ kind: 'json', title: undefined, description: undefined, start: undefined }, text, false);
}

const first = (problems: Readonly<Record<string, string>>): string | undefined => {
  const [found] = Object.entries(problems);
  return found && `${found[0]} ${found[1]}`;
};

/** What the box found wrong, where it found it. */
function problemsOf(details: unknown): Record<string, string> {
  const { problems } = (details ?? {}) as { problems?: unknown };
  if (!Array.isArray(problems)) return {};
  return Object.fromEntries(problems.map(({ path, message }: { path: string; message: string }) => [path, message]));
}

async function base64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  // In parts: a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
