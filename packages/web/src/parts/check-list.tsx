/** What a doctor found, the worst first, with the line that mends each. */

import { Badge, type Tone } from './badge.tsx';
import { CommandLine } from './copy.tsx';

export interface Check {
  readonly name: string;
  readonly code?: string | null | undefined;
  readonly state: keyof typeof kinds;
  readonly detail: string;
  readonly fix?: string | null | undefined;
}

const kinds = {
  fail: { rank: 0, tone: 'bad' },
  missing: { rank: 0, tone: 'bad' },
  warn: { rank: 1, tone: 'warn' },
  ok: { rank: 2, tone: 'good' },
} as const satisfies Record<string, { rank: number; tone: Tone }>;

export function CheckList({ checks }: { checks: readonly Check[] }) {
  return (
    <ul className="rows" aria-label="Checks">
      {checks
        .toSorted((one, other) => kinds[one.state].rank - kinds[other.state].rank)
        .map(({ name, code, state, detail, fix }) => (
          <li key={`${name} ${code} ${detail}`}>
            <Badge text={state} tone={kinds[state].tone} />
            <strong>{name}</strong>
            <span className="wrap">{detail}</span>
            {code && <code className="faint">{code}</code>}
            {fix && <CommandLine text={fix} />}
          </li>
        ))}
    </ul>
  );
}
