import type { PageInfo } from '../page.ts';
import { itemsOf, titles } from './items.ts';
import { parts } from './parts.ts';

export const page: PageInfo = {
  title: 'Box',
  icon: 'branch',
  order: 15,
  scope: 'graph:read',
  shortcut: 'x',
  routes: [
    { path: '/box', view: () => import('./box.tsx') },
    { path: '/box/services/:id', view: () => import('./service.tsx') },
    { path: '/box/sessions/:id', view: () => import('./session.tsx') },
    { path: '/box/:part', view: () => import('./box.tsx') },
  ],
  entries: [
    ...parts.map(({ id, title }) => ({ title: `Box: ${title}`, to: id === 'graph' ? '/box' : `/box/${id}` })),
    { title: 'New session', to: '/box/sessions?new=yes', scope: 'graph:use' },
  ],
  async find(client, words, signal) {
    const wanted = words.toLowerCase();
    const items = itemsOf(await client.runtime.status({}, { signal }));
    return items
      .filter(({ id }) => id.toLowerCase().includes(wanted))
      .map(({ section, id, state }) => ({
        title: id,
        to: `/box?item=${encodeURIComponent(`${section}/${id}`)}`,
        note: `${titles[section]}, ${state}`,
      }));
  },
  commands: [
    ...['status', 'render', 'box.describe', 'sync', 'bootstrap', 'up', 'down', 'restart', 'logs', 'doctor', 'context', 'focus'],
    ...['pulse', 'pulse.start', 'pulse.stop'],
    ...['session.start', 'session.event', 'session.end', 'session.resume', 'session.status', 'session.show'],
  ],
};
