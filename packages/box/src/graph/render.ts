import type { BoxModel, RenderedGraph } from '@skillbox/protocol';
import type { Selection } from './graph.ts';
import type { Runtime } from './runtime.ts';

export async function render(_runtime: Runtime, _selection: Selection, _options: { why: boolean }): Promise<RenderedGraph> {
  throw new Error('being written');
}

export async function describeBox(_runtime: Runtime): Promise<BoxModel> {
  throw new Error('being written');
}
