import type { PageInfo } from '../page.ts';

export const page: PageInfo = {
  title: 'Sandboxes',
  icon: 'box',
  order: 40,
  scope: 'sandboxes:read',
  shortcut: 'b',
  routes: [
    { path: '/sandboxes', view: () => import('./list.tsx') },
    { path: '/sandboxes/:id', view: () => import('./sandbox.tsx') },
  ],
  entries: [{ title: 'New sandbox', to: '/sandboxes?new=yes', scope: 'sandboxes:use' }],
  async find(client, words, signal) {
    const { items } = await client.sandboxes.list({ limit: 200 }, { signal });
    const wanted = words.toLowerCase();
    return items
      .filter(({ id, template, labels }) => `${id} ${template} ${Object.values(labels).join(' ')}`.toLowerCase().includes(wanted))
      .map(({ id, template, state }) => ({ title: id, to: `/sandboxes/${id}`, note: `${template}, ${state}` }));
  },
  commands: [
    ...['sandbox.create', 'sandbox.list', 'sandbox.get', 'sandbox.destroy', 'sandbox.recreate', 'sandbox.ttl', 'sandbox.network'],
    ...['sandbox.pause', 'sandbox.resume', 'sandbox.snapshot', 'sandbox.restore', 'sandbox.fork', 'sandbox.events'],
    ...['snapshot.list', 'snapshot.delete', 'route.explain', 'sandbox.metrics', 'sandbox.preview'],
    ...['sandbox.exec', 'sandbox.programs', 'sandbox.program', 'sandbox.output', 'sandbox.stdin', 'sandbox.stdin.close', 'sandbox.signal'],
    ...['sandbox.file.read', 'sandbox.file.write', 'sandbox.file.stat', 'sandbox.file.list', 'sandbox.file.mkdir'],
    ...['sandbox.file.move', 'sandbox.file.remove', 'sandbox.file.watch'],
  ],
};
