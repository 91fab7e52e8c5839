/** The template of the workspace: the one sandbox that has durable folders of the host. No other template can have them. */

import type { Template } from '@skillbox/protocol';
import { type TemplateDefinition, toTemplate } from '../template-definition.ts';

export const workspaceName = 'workspace';
/** Whose the workspace is: the box's own. Its folders hold the work of all clients, so that no tenant of one client may use it. */
export const workspaceTenant = 'default';

/** What the manifest may say of it. */
export interface WorkspaceSettings extends Pick<TemplateDefinition, 'network' | 'resources' | 'image'> {
  readonly provider?: string;
}

/** Agents in it are told the commands of the graph, and can use them; who does not want that says so in the manifest. */
const granted = ['network', 'graph'] as const;
const day = 24 * 3600_000;

/** The source is the box's to say: what is declared or made over the API has another. */
export const isWorkspace = ({ name, source }: Pick<Template, 'name' | 'source'>): boolean =>
  name === workspaceName && source === 'built-in';

export function workspaceTemplate({ image, network, provider, resources }: WorkspaceSettings = {}): Template {
  const definition: TemplateDefinition = {
    description: `The workspace of the box: folders that stay, agent homes, the tools of ${provider === 'docker' ? 'its image' : 'the host'}.`,
    resources: { ...generous, ...given(resources) },
    network: { internal: [...granted], ...given(network) },
    ...(image !== undefined && { image }),
    ...(provider !== undefined && { providers: [provider] }),
    // It has no end; this is what a time that somebody sets may be.
    ttl: { default: 100 * day, max: 100 * day },
    idle: { action: 'keep' },
    admin_only: true,
  };
  return toTemplate(workspaceName, 1, 'built-in', definition);
}

const mebi = 2 ** 20;
const generous = { cpu: 8, memory: 4096 * mebi, disk: 10_240 * mebi, processes: 4096, tmp: 1024 * mebi };

/** Without what is there and undefined. */
const given = <T extends object>(settings: T | undefined): Partial<T> =>
  Object.fromEntries(Object.entries(settings ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
