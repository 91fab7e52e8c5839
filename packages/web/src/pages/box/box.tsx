/** The environment of the box, one part at a time. */

import type { ComponentType } from 'react';
import { Page } from '../../parts/page.tsx';
import { Empty } from '../../parts/states.tsx';
import { useInSight } from '../../parts/use-in-sight.ts';
import { Link } from '../../router.tsx';
import type { ViewProps } from '../page.ts';
import { About } from './about.tsx';
import { Doctor } from './doctor.tsx';
import { Focus } from './focus.tsx';
import { Graph } from './graph.tsx';
import { type PartId, parts } from './parts.ts';
import { Pulse } from './pulse.tsx';
import { Sessions } from './sessions.tsx';
import './box.css';

const views: Readonly<Record<PartId, ComponentType>> = {
  graph: Graph,
  focus: Focus,
  sessions: Sessions,
  pulse: Pulse,
  doctor: Doctor,
  about: About,
};

export default function Box({ params }: ViewProps) {
  const current = params.part === undefined ? parts[0] : parts.find(({ id }) => id === params.part);
  const View = current && views[current.id];
  const row = useInSight<HTMLElement>('[aria-current]', current?.id);
  return (
    <Page title={current ? `Box: ${current.title}` : 'Box'}>
      <div className="box-parts">
        <nav ref={row} className="subnav" aria-label="Parts of the box">
          {parts.map(({ id, title }) => (
            <Link key={id} to={id === 'graph' ? '/box' : `/box/${id}`} aria-current={id === current?.id ? 'page' : undefined}>
              {title}
            </Link>
          ))}
        </nav>
        <div className="stack">
          {View ? (
            <View />
          ) : (
            <Empty title="There is no such part" icon="search">
              <p>It may have moved.</p>
            </Empty>
          )}
        </div>
      </div>
    </Page>
  );
}
