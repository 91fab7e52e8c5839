import type { GraphExamination } from '@skillbox/protocol';
import type { Selection } from './graph.ts';
import type { Runtime } from './runtime.ts';

export async function doctor(_runtime: Runtime, _selection: Selection): Promise<GraphExamination> {
  throw new Error('being written');
}
