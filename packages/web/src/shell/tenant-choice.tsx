/** For which tenant an administrator looks and acts. It stands in the address, so that a link shows the same to another one. */

import { useBox } from '../box/box.ts';
import { useLoad } from '../box/use-load.ts';
import { useQuery } from '../router.tsx';

export function TenantChoice() {
  const { client, self, tenant } = useBox();
  const [, change] = useQuery();
  const { data } = useLoad('tenants', (signal) => client.tenants.list({ signal }));
  const names = [...new Set([self.tenant, tenant, ...(data?.items.map(({ name }) => name) ?? [])])].sort();
  return (
    <select
      className="input"
      aria-label="Tenant"
      value={tenant}
      onChange={(event) => change({ tenant: event.target.value === self.tenant ? undefined : event.target.value })}
    >
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
