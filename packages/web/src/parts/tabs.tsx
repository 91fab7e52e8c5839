import type { KeyboardEvent, ReactNode } from 'react';
import { useQuery } from '../router.tsx';
import { useInSight } from './use-in-sight.ts';

export interface Tab {
  readonly id: string;
  readonly title: string;
  readonly show: () => ReactNode;
}

/** Which one is open stands in the address. */
export function Tabs({ tabs, name = 'tab', label }: { readonly tabs: readonly Tab[]; readonly name?: string; readonly label: string }) {
  const [query, change] = useQuery();
  const current = tabs.find(({ id }) => id === query.get(name)) ?? tabs[0];
  const row = useInSight<HTMLDivElement>('[aria-selected="true"]', current?.id);
  const open = ({ id }: Tab): void => change({ [name]: id === tabs[0]?.id ? undefined : id });
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || !current) return;
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length];
    if (!next) return;
    open(next);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <>
      <div ref={row} className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            data-tab={tab.id}
            aria-selected={tab === current}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => open(tab)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" aria-label={current?.title} className="tab-panel">
        {current?.show()}
      </div>
    </>
  );
}
