import type { PageInfo } from '../page.ts';

const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const page: PageInfo = {
  title: 'Executions',
  icon: 'play',
  order: 20,
  scope: 'executions:read',
  shortcut: 'e',
  routes: [
    { path: '/executions', view: () => import('./list.tsx') },
    { path: '/executions/:id', view: () => import('./detail.tsx') },
  ],
  entries: [
    { title: 'Executions that failed', to: '/executions?status=failed' },
    { title: 'Executions that run now', to: '/executions?status=running' },
  ],
  find: async (_client, words) => (id.test(words) ? [{ title: words, to: `/executions/${words}` }] : []),
  commands: [
    'execution.create',
    'execution.list',
    'execution.get',
    'execution.events',
    'execution.cancel',
    'execution.delete',
    'execution.file',
    'execution.archive',
  ],
};
