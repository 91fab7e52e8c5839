/** A place to let a skill fall on. What the box finds wrong with it is shown here, file by file and line by line. */

import type { LintFinding, PushedSkill } from '@skillbox/sdk';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { type Failure, useBox } from '../../box/box.ts';
import { useAct } from '../../box/use-act.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Card } from '../../parts/page.tsx';
import { FailureNote } from '../../parts/states.tsx';
import { Link } from '../../router.tsx';
import { type Dropped, readDrop, readFiles } from './dropped.ts';

interface Props {
  readonly children: ReactNode;
  onPushed(): void;
}

/** Everything in it takes a drop. */
export function PushArea({ children, onPushed }: Props) {
  const { client } = useBox();
  const [over, setOver] = useState(false);
  const [pushed, setPushed] = useState<PushedSkill>();
  const folder = useRef<HTMLInputElement>(null);
  const zip = useRef<HTMLInputElement>(null);
  const push = useAct(async (read: Promise<Dropped>) => {
    setPushed(undefined);
    const dropped = await read;
    setPushed(await ('zip' in dropped ? client.skills.push(dropped.zip) : client.skills.pushFiles(dropped.files)));
    onPushed();
  });
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const read = readDrop(event.dataTransfer);
    if (read) void push.run(read);
  };
  const chosen = ({ target }: { target: HTMLInputElement }): void => {
    const files = [...(target.files ?? [])];
    target.value = '';
    if (files.length > 0) void push.run(readFiles(files));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons do the same with the keyboard.
    <div
      className={over ? 'push-area over' : 'push-area'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={drop}
    >
      <div className="push-bar">
        <Icon name="upload" />
        <span className="what">{push.busy ? 'Pushing…' : 'Drop a folder with SKILL.md, or a zip of one, anywhere here'}</span>
        <Button icon="folder" busy={push.busy} onClick={() => folder.current?.click()}>
          Choose a folder
        </Button>
        <Button icon="file" busy={push.busy} onClick={() => zip.current?.click()}>
          Choose a zip
        </Button>
        <input ref={folder} hidden type="file" aria-label="Folder of a skill" onChange={chosen} {...{ webkitdirectory: '' }} />
        <input ref={zip} hidden type="file" aria-label="Zip of a skill" accept=".zip,application/zip" onChange={chosen} />
      </div>
      {push.failure && <Refused failure={push.failure} onClose={push.clear} />}
      {pushed && <Accepted of={pushed} onClose={() => setPushed(undefined)} />}
      {children}
    </div>
  );
}

function Refused({ failure, onClose }: { readonly failure: Failure; onClose(): void }) {
  const findings = findingsOf(failure.details);
  if (findings.length === 0)
    return (
      <Card title="Not pushed" actions={<Button kind="quiet" icon="close" label="Close" onClick={onClose} />}>
        <div className="inside">
          <FailureNote failure={failure} />
        </div>
      </Card>
    );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  return (
    <Card
      title={`Not pushed: ${errors} ${errors === 1 ? 'error' : 'errors'}`}
      actions={<Button kind="quiet" icon="close" label="Close" onClick={onClose} />}
    >
      <Findings of={findings} />
    </Card>
  );
}

function Accepted({ of, onClose }: { readonly of: PushedSkill; onClose(): void }) {
  return (
    <Card
      title={of.created ? 'Pushed' : 'It was there already'}
      actions={<Button kind="quiet" icon="close" label="Close" onClick={onClose} />}
    >
      <div className="inside" role="status">
        <Link to={`/skills/${encodeURIComponent(of.name)}`}>
          {of.name} {of.version}
        </Link>
        {of.warnings.length > 0 && (
          <span className="faint">
            {' '}
            with {of.warnings.length} {of.warnings.length === 1 ? 'warning' : 'warnings'}
          </span>
        )}
      </div>
      {of.warnings.length > 0 && <Findings of={of.warnings} />}
    </Card>
  );
}

function Findings({ of }: { readonly of: readonly LintFinding[] }) {
  return (
    <ul className="findings" aria-label="Findings">
      {of.map((finding) => (
        <li key={`${finding.file}:${finding.line}:${finding.code}:${finding.message}`}>
          <Badge text={finding.severity} tone={finding.severity === 'error' ? 'bad' : 'warn'} />
          <span className="mono where">
            {finding.file}:{finding.line}
          </span>
          <span className="what">
            {finding.message} <small>{finding.fix}</small>
          </span>
          <code className="faint">{finding.code}</code>
        </li>
      ))}
    </ul>
  );
}

function findingsOf(details: unknown): readonly LintFinding[] {
  const { findings } = (details ?? {}) as { findings?: unknown };
  return Array.isArray(findings) ? (findings as LintFinding[]) : [];
}
