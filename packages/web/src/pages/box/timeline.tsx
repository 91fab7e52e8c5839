/** Work as it goes on: each part with its state and time, and why it failed. */

import type { WorkStep } from '@skillbox/sdk';
import type { Step, Work } from '../../box/works.ts';
import { formatMs } from '../../parts/format.ts';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { useElapsed } from '../../parts/use-seconds.ts';
import './work-steps.css';

const words: Readonly<Record<WorkStep['state'], string>> = {
  ...{ running: 'running', done: 'done', unchanged: 'as it was', planned: 'would be done', skipped: 'left out', failed: 'failed' },
};
const marks: Readonly<Record<Exclude<WorkStep['state'], 'running'>, IconName>> = {
  ...{ done: 'check', unchanged: 'check', planned: 'clock', skipped: 'warning', failed: 'close' },
};

export function Timeline({ work }: { readonly work: Work }) {
  // Of what was in order only the phases are worth a line.
  const shown = work.steps.filter(({ kind, state }) => kind === 'phase' || state !== 'unchanged');
  const same = work.steps.length - shown.length;
  // Of focus all is part of a phase; elsewhere only what sync does.
  const phased = shown.some(({ kind, name }) => kind === 'phase' && name !== 'sync');
  return (
    <>
      <Now work={work} />
      <ol className="work-steps" aria-label="Steps">
        {shown.map((step) => (
          <Part
            key={step.name}
            step={step}
            over={work.until !== undefined}
            inner={step.kind === 'sync' || (phased && step.kind !== 'phase')}
          />
        ))}
      </ol>
      {same > 0 && <p className="faint">{same === 1 ? 'One part was' : `${same} parts were`} in order already.</p>}
    </>
  );
}

function Now({ work }: { readonly work: Work }) {
  const ms = useElapsed(work.since, work.until);
  if (work.until !== undefined) return null;
  return (
    <p className="work-now">
      <Spinner />
      <span className="wrap" aria-live="polite">
        {work.line === '' ? 'Asking the box' : work.line}
      </span>
      <span className="faint">{inSeconds(ms)}</span>
    </p>
  );
}

function Part({ step, over, inner }: { readonly step: Step; readonly over: boolean; readonly inner: boolean }) {
  const { name, state, detail, tail, duration_ms } = step;
  const cutOff = over && state === 'running';
  return (
    <li className={`${cutOff ? 'skipped' : state}${inner ? ' inner' : ''}`}>
      <span className="mark" aria-hidden="true">
        {cutOff ? <Icon name="warning" /> : state === 'running' ? <Spinner /> : <Icon name={marks[state]} />}
      </span>
      <strong>{name}</strong>
      <span className="how">{cutOff ? 'cut off' : words[state]}</span>
      <span className="wrap">{detail ?? ''}</span>
      <span className="faint time">
        {state === 'running'
          ? cutOff || <Seconds since={step.since} />
          : duration_ms !== null && duration_ms >= 1
            ? formatMs(duration_ms)
            : ''}
      </span>
      {tail.length > 0 && (
        <pre className="tail" tabIndex={0}>
          {tail.join('\n')}
        </pre>
      )}
    </li>
  );
}

const Seconds = ({ since }: { readonly since: number }) => inSeconds(useElapsed(since, undefined));

const inSeconds = (ms: number): string => (ms < 60_000 ? `${Math.floor(ms / 1000)} s` : formatMs(ms));

const Spinner = () => <span className="spinner" />;
