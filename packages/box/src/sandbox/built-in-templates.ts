/** Templates every box has. Development in them must work: npm, virtual environments, compilers, a headless browser. */

import type { Template } from '@skillbox/protocol';

const mebi = 2 ** 20;
const gibi = 2 ** 30;
const minute = 60_000;
const hour = 60 * minute;

export const templateDefaults = {
  description: '',
  providers: ['bubblewrap'],
  image: null,
  resources: { cpu: 2, memory_bytes: gibi, disk_bytes: 2 * gibi, processes: 512, tmp_bytes: 512 * mebi },
  network: { mode: 'none', allow: [] },
  ttl: { default_ms: hour, max_ms: 24 * hour },
  idle: { action: 'pause', after_ms: 10 * minute },
  placement: [],
  setup: [],
  inputs: null,
  price_per_hour: 0,
  labels: {},
  admin_only: false,
  options: {},
} as const satisfies Omit<Template, 'name' | 'version' | 'source'>;

export const builtInTemplates: readonly Template[] = [
  builtIn('base', { description: 'A shell and the tools of the host.' }),
  builtIn('python', { description: 'Python of the host, with room for virtual environments.', setup: ['python3 --version'] }),
  builtIn('node', { description: 'Node.js of the host, with room for npm.', setup: ['node --version'] }),
  builtIn('canary', {
    description: 'Small and short-lived: shows that sandboxes can be made here.',
    resources: { cpu: 0.5, memory_bytes: 128 * mebi, disk_bytes: 64 * mebi, processes: 32, tmp_bytes: 16 * mebi },
    ttl: { default_ms: 10 * minute, max_ms: hour },
    idle: { action: 'destroy', after_ms: 5 * minute },
  }),
  builtIn('compose-e2e', {
    description: 'A compose project on a placement host, reached over SSH.',
    providers: ['compose-ssh'],
    network: { mode: 'full', allow: [] },
    idle: { action: 'keep', after_ms: null },
    inputs: {
      type: 'object',
      properties: {
        repo: { type: 'string', minLength: 1, description: 'Folder or address of the project' },
        ref: { type: 'string', description: 'Branch, tag or commit of the address' },
        service: { type: 'string', description: 'The one that programs and files act in. Default: the first' },
      },
      required: ['repo'],
      additionalProperties: false,
    },
    admin_only: true,
  }),
  builtIn('vm-attach', {
    description: 'A machine that exists already, reached over SSH.',
    providers: ['ssh'],
    network: { mode: 'full', allow: [] },
    idle: { action: 'keep', after_ms: null },
    admin_only: true,
  }),
  builtIn('burst', {
    description: 'Here while there is room, else at a provider that speaks the E2B protocol.',
    providers: ['bubblewrap', 'e2b'],
    idle: { action: 'keep', after_ms: null },
  }),
];

function builtIn(name: string, more: Partial<Template>): Template {
  return {
    ...structuredClone(templateDefaults as Omit<Template, 'name' | 'version' | 'source'>),
    ...more,
    name,
    version: 1,
    source: 'built-in',
  };
}
