/** From skillbox.yaml and the overlays to the graph that is selected. */

import type { Config } from '../config.ts';
import type { Graph, Selection } from './graph.ts';

/** Throws graph_invalid with every finding, client_not_found, LOCAL_RUNTIME_PROFILE_UNKNOWN. Writes nothing. */
export function loadGraph(_config: Config, _selection: Selection): Graph {
  throw new Error('being written');
}
