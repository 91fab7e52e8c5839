/** The steps of focus, one after the other: each tells that it begins, how it ended and how long it took. */

import { BoxError, type FocusReport } from '@skillbox/protocol';
import type { Runtime } from '../runtime.ts';
import { tellBegin, tellEnd } from '../work-steps.ts';

export type Step = FocusReport['steps'][number];

export interface Done {
  readonly result: 'done' | 'unchanged' | 'failed' | 'skipped';
  readonly detail?: string | null;
}

const names = ['sync', 'bootstrap', 'up', 'collect', 'context', 'persist'] as const;
const mostDetail = 500;

/** A step that fails does not end focus: what comes later still tells how things are. An interruption does. */
export function stepper(runtime: Runtime): { readonly steps: Step[]; step(name: Step['step'], work: () => Promise<Done>): Promise<void> } {
  const steps: Step[] = [];
  return {
    steps,
    async step(name, work) {
      runtime.signal.throwIfAborted();
      const since = performance.now();
      tellBegin(runtime, { kind: 'phase', name }, `${names.indexOf(name) + 1}/${names.length} ${name}`);
      const { result, detail = null } = await settled(runtime, work);
      const duration_ms = Math.round(performance.now() - since);
      const step = { step: name, result, duration_ms, detail: detail === null ? null : cut(detail) };
      steps.push(step);
      tellEnd(runtime, { kind: 'phase', name }, { state: result, duration_ms, detail: step.detail });
    },
  };
}

async function settled({ signal }: Runtime, work: () => Promise<Done>): Promise<Done> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted || !(error instanceof BoxError)) throw error;
    return { result: 'failed', detail: error.message };
  }
}

export const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const cut = (text: string): string => (text.length > mostDetail ? `${text.slice(0, mostDetail - 1)}…` : text);
