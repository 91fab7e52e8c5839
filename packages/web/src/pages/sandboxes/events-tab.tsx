/** What happened to it, newest first. */

import type { BoxEvent } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { useLoad } from '../../box/use-load.ts';
import { formatTime } from '../../parts/format.ts';
import { Empty, Show } from '../../parts/states.tsx';

const most = 2000;

export function EventsTab({ id }: { readonly id: string }) {
  const { client, tenant } = useBox();
  const events = useLoad(`${tenant} ${id} events`, async (signal) => {
    const all: BoxEvent[] = [];
    for await (const event of client.sandbox(id).allEvents({ limit: 500 }, { signal })) {
      all.push(event);
      if (all.length >= most) break;
    }
    return all.reverse();
  });
  useOnEvents(({ subject }) => subject.id === id, events.reload);
  return (
    <Show of={events}>
      {(all) =>
        all.length === 0 ? (
          <Empty title="Nothing happened to it" command={`skillbox sandbox events ${id}`} />
        ) : (
          <div className="scroll-x">
            <table className="table">
              <thead>
                <tr>
                  <th>Time</th>
                  <th>What</th>
                  <th>Who</th>
                  <th>Particulars</th>
                </tr>
              </thead>
              <tbody>
                {all.map((event) => (
                  <tr key={event.id}>
                    <td className="nowrap">{formatTime(event.time)}</td>
                    <td className="nowrap">{event.type}</td>
                    <td className="nowrap faint">
                      {event.actor.kind} {event.actor.id}
                    </td>
                    <td className="particulars">{particulars(event.data)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Show>
  );
}

const particulars = (data: BoxEvent['data']): string =>
  Object.entries(data)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
