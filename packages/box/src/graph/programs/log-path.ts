/** Where programs of the graph write: the box's own logs, or a declared folder that only the host can write. */

import { join } from 'node:path';
import type { Graph } from '../graph.ts';
import { serviceLogFolder } from '../runtime.ts';

type Kind = 'services' | 'tasks' | 'bridges';

/**
 * A log folder that the workspace may write is not for the host to write into: what belongs there is in the box's own folder,
 * which the workspace can read.
 */
export function logPath(stateRoot: string, graph: Pick<Graph, 'logs'>, kind: Kind, item: { id: string; log?: string | undefined }): string {
  const declared = graph.logs.find(({ id }) => id === item.log);
  const folder = declared && !declared.place.inside ? declared.place.hostPath : serviceLogFolder(stateRoot);
  return join(folder, ...(kind === 'services' ? [] : [kind]), `${item.id}.log`);
}
