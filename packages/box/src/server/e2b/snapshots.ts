/** Snapshots and forks on the control plane. The protocol calls a snapshot a template when it is removed. */

import { BoxError, snapshotId } from '@skillbox/protocol';
import { z } from 'zod';
import { callerOf } from './access.ts';
import { json, noContent } from './answer.ts';
import { owned } from './control.ts';
import { check, type Route, readBody } from './route.ts';
import { toConnection, toSnapshot } from './shapes.ts';

export const snapshotRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/sandboxes/:id/snapshots',
    async run(call) {
      const { caller, sandbox } = await owned(call);
      const { name } = await readBody(call, z.object({ name: z.string().min(1).max(128).nullish() }));
      return json(toSnapshot(await call.box.sandboxes.snapshot(caller, sandbox.id, name ?? undefined)), 201);
    },
  },
  {
    method: 'GET',
    path: '/snapshots',
    async run({ box, query, request }) {
      const caller = await callerOf(box, request, 'sandboxes:read');
      const limit = check(z.coerce.number().int().min(1).max(1000).default(100), query.get('limit') ?? undefined);
      const sandbox = query.get('sandboxID');
      const cursor = query.get('nextToken');
      const name = query.get('name');
      const page = await box.sandboxes.snapshots(caller.tenant, { limit, ...(sandbox && { sandbox }), ...(cursor && { cursor }) });
      const items = name ? page.items.filter((item) => item.name === name || item.id === name) : page.items;
      return json(items.map(toSnapshot), 200, page.next_cursor ? { 'X-Next-Token': page.next_cursor } : {});
    },
  },
  {
    method: 'DELETE',
    path: '/templates/:id',
    async run({ box, params, request }) {
      const caller = await callerOf(box, request, 'sandboxes:use');
      const id = snapshotId.safeParse(params.id);
      if (!id.success) throw new BoxError('not_found', `There is no snapshot ${params.id}.`);
      await box.sandboxes.removeSnapshot(caller, id.data);
      return noContent();
    },
  },
  {
    method: 'POST',
    path: '/sandboxes/:id/fork',
    async run(call) {
      const { caller, sandbox } = await owned(call);
      const body = await readBody(
        call,
        z.object({ timeout: z.number().positive().nullish(), count: z.number().int().min(1).max(100).nullish() }),
      );
      const options = { count: body.count ?? 1, ...(body.timeout && { ttlMs: body.timeout * 1000 }) };
      const forks = await call.box.sandboxes.fork(caller, sandbox.id, options);
      return json(
        forks.map((fork) => ({ sandbox: toConnection(call.box, fork) })),
        201,
      );
    },
  },
];
