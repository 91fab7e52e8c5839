/** The same items as a list: for phones, for many, and for who reads rather than looks. */

import { Badge } from '../../parts/badge.tsx';
import { Card } from '../../parts/page.tsx';
import { type Item, sections, titles } from './items.ts';

interface Props {
  readonly items: readonly Item[];
  readonly chosen: string | undefined;
  onOpen(key: string): void;
}

const plural = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('s') ? '' : 's'}`;

export function ItemList({ items, chosen, onOpen }: Props) {
  return (
    <div className="stack">
      {sections.map((section) => {
        const own = items.filter((item) => item.section === section);
        if (own.length === 0) return null;
        return (
          <Card key={section} title={plural(titles[section])} actions={<span className="faint">{own.length}</span>}>
            <ul className="rows" aria-label={plural(titles[section])}>
              {own.map((item) => (
                <li key={item.key}>
                  <Badge text={item.state} tone={item.tone} />
                  <button type="button" className="as-link" aria-pressed={item.key === chosen} onClick={() => onOpen(item.key)}>
                    {item.id}
                  </button>
                  <span className="wrap">{item.detail ?? item.notes ?? ''}</span>
                </li>
              ))}
            </ul>
          </Card>
        );
      })}
    </div>
  );
}
