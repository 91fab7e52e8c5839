/**
 * What only the workspace can be given at box.internal: commands of the graph, which reach over all clients. Any other sandbox is of a tenant
 * or a client, and whoever can name its template would let it act for the operator; so neither the manifest nor the API gives it to another.
 */

export const graphGrants = { use: 'graph', read: 'graph-read' } as const;

const onlyWorkspace: readonly string[] = Object.values(graphGrants);

export const isForWorkspaceOnly = (grant: string): boolean => onlyWorkspace.includes(grant);
