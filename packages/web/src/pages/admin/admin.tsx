/** The box and its tenants: one part at a time, and only those that the key may see. */

import type { ComponentType } from 'react';
import { useBox } from '../../box/box.ts';
import { Page } from '../../parts/page.tsx';
import { Empty } from '../../parts/states.tsx';
import { useInSight } from '../../parts/use-in-sight.ts';
import { Link } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { Audit } from './audit.tsx';
import { Credits } from './credits.tsx';
import { Doctor } from './doctor.tsx';
import { Egress } from './egress.tsx';
import { Keys } from './keys.tsx';
import { type PartId, parts } from './parts.ts';
import { Providers } from './providers.tsx';
import { Secrets } from './secrets.tsx';
import { Templates } from './templates.tsx';
import { Tenants } from './tenants.tsx';
import { Webhooks } from './webhooks.tsx';
import './admin.css';

const views: Readonly<Record<PartId, ComponentType>> = {
  keys: Keys,
  tenants: Tenants,
  credits: Credits,
  templates: Templates,
  secrets: Secrets,
  webhooks: Webhooks,
  providers: Providers,
  egress: Egress,
  audit: Audit,
  doctor: Doctor,
};

export default function Admin({ params }: ViewProps) {
  const { may, tenant } = useBox();
  const visible = parts.filter(({ scope }) => may(scope));
  const current = params.part === undefined ? visible[0] : visible.find(({ id }) => id === params.part);
  const View = current && views[current.id];
  const row = useInSight<HTMLElement>('[aria-current]', current?.id);
  return (
    <Page title={current ? `Admin: ${current.title}` : 'Admin'}>
      <div className="admin">
        <nav ref={row} className="subnav" aria-label="Parts of Admin">
          {visible.map(({ id, title }) => (
            <Link key={id} to={`/admin/${id}`} aria-current={id === current?.id ? 'page' : undefined}>
              {title}
            </Link>
          ))}
        </nav>
        <div className="stack">
          {View ? (
            <View key={tenant} />
          ) : (
            <Empty title="There is no such part" icon="search">
              <p>It may have moved, or your key may not see it.</p>
            </Empty>
          )}
        </div>
      </div>
    </Page>
  );
}
