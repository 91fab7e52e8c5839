/** Everything that is wrong with the manifest and with each overlay. */

import type { Config } from '../config.ts';
import type { Finding } from '../manifest/finding.ts';
import { examineGraph } from './load.ts';

export function everyFinding(config: Config): Finding[] {
  const { graph, findings } = examineGraph(config, { profiles: [] });
  const clients = graph?.clients.filter((client) => client !== graph.client?.id) ?? [];
  const all = [...findings, ...clients.flatMap((client) => examineGraph(config, { client, profiles: [] }).findings)];
  // What stands in the manifest is found once for each client.
  return [
    ...new Map(
      all.map((finding) => [`${finding.file}:${finding.line}:${finding.column} ${finding.code} ${finding.message}`, finding]),
    ).values(),
  ];
}
