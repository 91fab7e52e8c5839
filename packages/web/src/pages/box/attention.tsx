/** What is down, failing or stale, first. */

import type { Attention } from '@skillbox/sdk';
import { Badge } from '../../parts/badge.tsx';
import { CommandLine } from '../../parts/copy.tsx';
import { Card } from '../../parts/page.tsx';
import { attentionTo, type Item } from './items.ts';

interface Props {
  readonly attention: readonly Attention[];
  /** With these, a subject leads to its item. */
  readonly items?: readonly Item[];
  onOpen?(key: string): void;
}

const rank = { error: 0, warning: 1 } as const;

export function AttentionCard({ attention, items = [], onOpen }: Props) {
  if (attention.length === 0)
    return (
      <p className="all-well" role="status">
        <Badge text="all is well" tone="good" />
      </p>
    );
  return (
    <Card title={attention.length === 1 ? 'One thing needs attention' : `${attention.length} things need attention`}>
      <ul className="rows attention" aria-label="Attention">
        {attention
          .toSorted((one, other) => rank[one.severity] - rank[other.severity])
          .map((each) => {
            const item = items.find((candidate) => attentionTo([each], candidate).length > 0);
            return (
              <li key={`${each.subject} ${each.message}`}>
                <Badge text={each.severity} tone={each.severity === 'error' ? 'bad' : 'warn'} />
                {item && onOpen ? (
                  <button type="button" className="as-link" onClick={() => onOpen(item.key)}>
                    {each.subject}
                  </button>
                ) : (
                  <strong>{each.subject}</strong>
                )}
                <span className="wrap">{each.message}</span>
                {each.fix && <CommandLine text={each.fix} />}
              </li>
            );
          })}
      </ul>
    </Card>
  );
}
