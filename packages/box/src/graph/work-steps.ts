/** Parts of work that takes long, told as they begin and end: to the CLI as a line, to others as records. */

import type { ActionRecord, ServiceOutcome, TaskOutcome, WorkStep } from '@skillbox/protocol';
import type { Runtime } from './runtime.ts';

export type StepName = Pick<WorkStep, 'kind' | 'name'>;
type End = Pick<WorkStep, 'state' | 'duration_ms' | 'detail' | 'tail'>;

export function tellBegin(runtime: Runtime, step: StepName, text: string): void {
  runtime.progress(text, { ...step, state: 'running', duration_ms: null, detail: null, tail: [] });
}

export function tellEnd(runtime: Runtime, step: StepName, end: Partial<End> & Pick<End, 'state'>): void {
  const whole: WorkStep = { duration_ms: null, detail: null, tail: [], ...step, ...end };
  runtime.progress(`${step.name}: ${whole.state}${whole.detail === null ? '' : `, ${whole.detail}`}`, whole);
}

/** A part with a result that says how it ended; one that throws has failed. */
export async function asStep<T>(
  runtime: Runtime,
  step: StepName,
  text: string,
  work: () => Promise<T>,
  endOf: (result: T) => Partial<End> & Pick<End, 'state'>,
): Promise<T> {
  const since = performance.now();
  const duration = (): number => Math.round(performance.now() - since);
  tellBegin(runtime, step, text);
  try {
    const result = await work();
    tellEnd(runtime, step, { duration_ms: duration(), ...endOf(result) });
    return result;
  } catch (error) {
    tellEnd(runtime, step, { state: 'failed', duration_ms: duration(), detail: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

const serviceStates: Readonly<Record<ServiceOutcome['result'], WorkStep['state']>> = {
  ...{
    started: 'done',
    stopped: 'done',
    killed: 'done',
    external: 'unchanged',
    'already-running': 'unchanged',
    'not-running': 'unchanged',
  },
  ...{ failed: 'failed', timeout: 'failed', stuck: 'failed', skipped: 'skipped', 'dry-run': 'planned' },
};
const taskStates: Readonly<Record<TaskOutcome['result'], WorkStep['state']>> = {
  ...{ done: 'done', ready: 'unchanged', failed: 'failed', blocked: 'skipped', 'dry-run': 'planned' },
};

export const endOfService = ({ result, duration_ms, detail, tail }: ServiceOutcome): End => ({
  ...{ state: serviceStates[result], duration_ms, tail },
  detail: detail ?? (result === 'killed' ? 'it did not end by itself' : null),
});

export const endOfTask = ({ result, duration_ms, detail, tail }: TaskOutcome): End => ({
  ...{ state: taskStates[result], duration_ms, detail, tail },
});

/** Of what sync did; what was found in order is no news. */
export function tellActions(runtime: Runtime, records: readonly ActionRecord[]): void {
  for (const { section, id, action, result, detail, error, path } of records) {
    if (result === 'unchanged') continue;
    tellEnd(runtime, { kind: 'sync', name: `${action} ${section}/${id}` }, { state: result, detail: error?.message ?? detail ?? path });
  }
}
