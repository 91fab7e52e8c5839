import type { PageInfo } from '../page.ts';

export const page: PageInfo = {
  title: 'Overview',
  icon: 'activity',
  order: 10,
  scope: 'any',
  shortcut: 'o',
  routes: [{ path: '/', view: () => import('./overview.tsx') }],
  commands: ['execution.figures', 'host.inspect', 'event.list'],
};
