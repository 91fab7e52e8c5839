/** The graph as a drawing. Items are buttons, so that keys and screen readers reach them; lines are only looked at. */

import { type KeyboardEvent, useMemo, useRef } from 'react';
import { type Item, titles } from './items.ts';
import { layOut, type Placed, pathOf, size } from './layout.ts';

interface Props {
  readonly items: readonly Item[];
  readonly needs: ReadonlyMap<string, readonly string[]>;
  readonly chosen: string | undefined;
  onOpen(key: string): void;
}

const margin = 12;

export function Drawing({ items, needs, chosen, onOpen }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  // Folders for logs need nothing and nothing needs them: the list has them.
  const drawn = items.filter(({ section }) => section !== 'logs' || items.length < 3);
  const shape = drawn.map(({ key }) => key).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys say which items; their states do not move them.
  const placed = useMemo(() => arranged(drawn, needs), [shape, needs]);
  const near = new Set(chosen === undefined ? [] : [chosen, ...(needs.get(chosen) ?? [])]);
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const from = (document.activeElement as HTMLElement | null)?.dataset.key;
    const to = from === undefined ? undefined : neighbour(placed, from, event.key);
    if (to === undefined) return;
    event.preventDefault();
    holder.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(to)}"]`)?.focus();
  };
  return (
    <div className="drawing scroll-x" role="group" aria-label="Graph" tabIndex={0} onKeyDown={move}>
      <div ref={holder} className="paper" style={{ width: placed.width + 2 * margin, height: placed.height + 2 * margin }}>
        <svg width={placed.width} height={placed.height} aria-hidden="true">
          {placed.lines.map(({ from, to, points }) => (
            <path
              key={`${from} ${to}`}
              className={chosen !== undefined && (to === chosen || from === chosen) ? 'edge near' : 'edge'}
              d={pathOf(points)}
            />
          ))}
        </svg>
        {drawn.map((item) => {
          const { x, y } = placed.nodes.get(item.key) ?? { x: 0, y: 0 };
          return (
            <button
              key={item.key}
              type="button"
              data-key={item.key}
              className={`node ${item.tone}${near.has(item.key) ? ' near' : ''}`}
              aria-pressed={item.key === chosen}
              style={{ left: x + margin, top: y + margin, width: size.width, height: size.height }}
              title={item.detail === null ? item.id : `${item.id}: ${item.detail}`}
              onClick={() => onOpen(item.key)}
            >
              <strong>{item.id}</strong>
              <span>
                {titles[item.section]}, {item.state}
              </span>
            </button>
          );
        })}
      </div>
    </div>
  );
}

/** What has lines is laid out by them; the rest stands below, in rows. */
function arranged(items: readonly Item[], needs: ReadonlyMap<string, readonly string[]>): Placed {
  const shown = new Set(items.map(({ key }) => key));
  const linked = new Set<string>();
  for (const [to, all] of needs)
    for (const from of all)
      if (shown.has(to) && shown.has(from)) {
        linked.add(from);
        linked.add(to);
      }
  const graph = layOut(
    items.flatMap(({ key }) => (linked.has(key) ? [key] : [])),
    needs,
  );
  const rest = items.filter(({ key }) => !linked.has(key));
  const step = { x: size.width + size.rowGap, y: size.height + size.rowGap };
  const across = Math.max(3, Math.floor((graph.width + size.rowGap) / step.x));
  const top = graph.height === 0 ? 0 : graph.height + 2 * size.rowGap;
  const nodes = new Map(graph.nodes);
  for (const [at, { key }] of rest.entries()) nodes.set(key, { x: (at % across) * step.x, y: top + Math.floor(at / across) * step.y });
  const rows = Math.ceil(rest.length / across);
  return {
    nodes,
    lines: graph.lines,
    width: Math.max(graph.width, Math.min(rest.length, across) * step.x - (rest.length > 0 ? size.rowGap : 0)),
    height: rows === 0 ? graph.height : top + rows * step.y - size.rowGap,
  };
}

const directions: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The nearest one in the direction of an arrow key. */
function neighbour({ nodes }: Placed, from: string, key: string): string | undefined {
  const direction = directions[key];
  const start = nodes.get(from);
  if (!direction || !start) return undefined;
  const [dx, dy] = direction;
  let best: { key: string; far: number } | undefined;
  for (const [candidate, { x, y }] of nodes) {
    const along = (x - start.x) * dx + (y - start.y) * dy;
    const aside = Math.abs((x - start.x) * dy) + Math.abs((y - start.y) * dx);
    if (along <= 0) continue;
    const far = along + 2 * aside;
    if (!best || far < best.far) best = { key: candidate, far };
  }
  return best?.key;
}
