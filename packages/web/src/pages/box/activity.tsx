/** What happened of late in the environment, newest first. */

import { Badge, type Tone } from '../../parts/badge.tsx';
import { Empty } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';

export interface Happened {
  readonly time: string;
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const words: readonly (readonly [RegExp, Tone])[] = [
  [/fail|crash|down|give|lost|error/, 'bad'],
  [/restart|heal|recover|started|ok\b|up\b/, 'good'],
  [/stale|drift|changed|unhealthy/, 'warn'],
];
const toneOfType = (type: string): Tone => words.find(([pattern]) => pattern.test(type))?.[1] ?? 'plain';

export function Activity({ of }: { readonly of: readonly Happened[] }) {
  if (of.length === 0) return <Empty small title="Nothing happened yet" />;
  return (
    <ul className="rows" aria-label="Activity">
      {of.map(({ time, type, subject, data }, at) => (
        <li key={`${time} ${type} ${subject} ${at}`}>
          <Badge text={type.replace(/^graph\./, '')} tone={toneOfType(type)} />
          <strong>{subject}</strong>
          <span className="wrap">{inWords(data)}</span>
          <span className="faint nowrap">
            <Ago time={time} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Names and values on one line. */
export const inWords = (data: Readonly<Record<string, unknown>>): string =>
  Object.entries(data)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
    .slice(0, 300);
