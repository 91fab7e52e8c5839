import type { PageInfo } from '../page.ts';

export const page: PageInfo = {
  title: 'Skills',
  icon: 'book',
  order: 30,
  scope: 'skills:read',
  shortcut: 's',
  routes: [
    { path: '/skills', view: () => import('./catalogue.tsx') },
    { path: '/skills/:name', view: () => import('./skill.tsx') },
  ],
  async find(client, words, signal) {
    const { items } = await client.skills.search(words, { limit: 8 }, { signal });
    return items.map(({ name, version }) => ({ title: name, to: `/skills/${encodeURIComponent(name)}`, note: version }));
  },
  commands: [
    'skill.push',
    'skill.list',
    'skill.search',
    'skill.versions',
    'skill.show',
    'skill.file',
    'skill.build',
    'skill.build-log',
    'skill.delete',
    'execution.create',
    'execution.figures',
  ],
};
