import type { BoxEvent } from '@skillbox/sdk';
import { useRecentEvents } from '../../box/live.ts';
import { toneOf } from '../../parts/badge.tsx';
import { Card } from '../../parts/page.tsx';
import { Empty } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Link } from '../../router.tsx';

const shown = 30;

export function EventsCard() {
  const events = useRecentEvents();
  return (
    <Card title="Newest events" actions={<span className="faint">live</span>}>
      {events.length === 0 ? (
        <Empty small title="Nothing happened yet" />
      ) : (
        <ul className="events" tabIndex={0} aria-label="Newest events">
          {events.slice(0, shown).map((event) => (
            <li key={event.id}>
              <i className={`dot ${toneOf(String(event.data.status ?? ''))}`} />
              <span className="type">{event.type}</span>
              <Subject event={event} />
              <span className="faint">
                <Ago time={event.time} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Subject({ event: { subject, data } }: { readonly event: BoxEvent }) {
  const name = typeof data.skill === 'string' ? data.skill : subject.id.slice(0, 24);
  if (subject.type === 'execution') return <Link to={`/executions/${subject.id}`}>{name}</Link>;
  if (subject.type === 'sandbox') return <Link to={`/sandboxes/${encodeURIComponent(subject.id)}`}>{name}</Link>;
  if (subject.type === 'skill') return <Link to={`/skills/${encodeURIComponent(subject.id.split('@')[0] ?? '')}`}>{name}</Link>;
  return <span className="name">{name}</span>;
}
