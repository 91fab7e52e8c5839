/** What the status of every item begins with. */

import type { Item } from '../graph.ts';

export interface ItemStatus {
  id: string;
  client: string | null;
  profiles: string[];
  required: boolean;
  notes: string | null;
}

export const itemStatus = ({ id, client, profiles, required, notes }: Item): ItemStatus => ({
  id,
  client: client ?? null,
  profiles: [...profiles],
  required,
  notes: notes ?? null,
});
