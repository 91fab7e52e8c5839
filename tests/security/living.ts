/** The two living sandboxes of a file of tests: one that attempts are made in, and a neighbour of another tenant. */

import { Sandbox } from 'e2b';
import type { TestBox } from '../support/box.ts';

/** A box that attempts are made in: one in this process, or a server of its own. */
export type Site = Pick<TestBox, 'url' | 'request' | 'json' | 'newKey' | 'push' | 'run'>;

export interface Living {
  readonly id: string;
  readonly key: string;
  /** Requests to this sandbox with its own key; `path` after its id. */
  request(path: string, options?: Parameters<TestBox['request']>[1]): Promise<Response>;
  json<T>(path: string, options?: Parameters<TestBox['request']>[1]): Promise<{ status: number; body: T }>;
  /** The same sandbox, as E2B's own SDK sees it. */
  e2b(): Promise<Sandbox>;
}

export interface LivingPair {
  own(): Promise<Living>;
  neighbour(): Promise<Living>;
  /** Both are gone after it: they would outlive their server. */
  end(): Promise<void>;
}

const template = 'threat';

export function createLivingPair(box: Site, resources: Record<string, unknown>): LivingPair {
  const ready = once(async () => {
    const body = { resources: { cpu: 2, memory: '256Mi', disk: '1Gi', processes: 128, tmp: '128Mi', ...resources } };
    const { status, body: said } = await box.json(`/v1/templates/${template}`, { method: 'PUT', body });
    if (status >= 300) throw new Error(`The template was refused: ${JSON.stringify(said)}`);
  });
  const made: Living[] = [];
  const open = (tenant: string) =>
    once(async () => {
      await ready();
      const living = await createLiving(box, await box.newKey(tenant, ['sandboxes:read', 'sandboxes:use']));
      made.push(living);
      return living;
    });
  return {
    own: open('inside'),
    neighbour: open('neighbour'),
    async end() {
      for (const { request } of made) {
        const { status } = await request('', { method: 'DELETE' });
        if (status >= 300 && status !== 404) throw new Error(`The sandbox could not be ended: ${status}`);
      }
    },
  };
}

async function createLiving(box: Site, key: string): Promise<Living> {
  const { status, body } = await box.json<{ id: string }>('/v1/sandboxes', { key, body: { template } });
  if (status !== 201) throw new Error(`The sandbox was refused: ${JSON.stringify(body)}`);
  const { id } = body;
  return {
    ...{ id, key },
    request: (path, options = {}) => box.request(`/v1/sandboxes/${id}${path}`, { key, ...options }),
    json: (path, options = {}) => box.json(`/v1/sandboxes/${id}${path}`, { key, ...options }),
    e2b: once(() => Sandbox.connect(id, { apiKey: key, apiUrl: `${box.url}/e2b`, sandboxUrl: `${box.url}/e2b` })),
  };
}

/** One for all who ask, also when they ask at once. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
