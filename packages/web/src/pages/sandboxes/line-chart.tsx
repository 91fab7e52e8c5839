/** One line over time, drawn here: what it was at a moment shows under the pointer. */

import { type PointerEvent, useState } from 'react';
import { niceTop } from '../../parts/charts.tsx';
import { formatClock } from '../../parts/format.ts';

interface Props {
  readonly title: string;
  readonly points: readonly { readonly time: string; readonly value: number }[];
  readonly colour: string;
  /** The most there can be; drawn when the line comes near it. */
  readonly limit?: number;
  format(value: number): string;
}

const [width, height] = [600, 120];

export function LineChart({ title, points, colour, limit, format }: Props) {
  const [at, setAt] = useState<number>();
  const highest = Math.max(...points.map(({ value }) => value), 0);
  const top = scaleTop(highest, limit);
  const [first, last] = [points[0], points.at(-1)].map((point) => (point ? Date.parse(point.time) : 0)) as [number, number];
  const span = Math.max(1, last - first);
  const placed = points.map(({ time, value }) => ({
    x: ((Date.parse(time) - first) / span) * width,
    y: height - (value / top) * (height - 2) - 1,
  }));
  const line = placed.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  const shown = at === undefined ? undefined : points[at];
  const here = at === undefined ? undefined : placed[at];

  const point = (event: PointerEvent<SVGSVGElement>): void => {
    const { left, width: wide } = event.currentTarget.getBoundingClientRect();
    const x = ((event.clientX - left) / wide) * width;
    const near = placed.reduce((best, each, index) => (Math.abs(each.x - x) < Math.abs((placed[best]?.x ?? 0) - x) ? index : best), 0);
    setAt(placed.length > 0 ? near : undefined);
  };
  return (
    <figure className="chart" aria-label={`${title}: now ${format(points.at(-1)?.value ?? 0)}, at most ${format(highest)}`}>
      <div className="plot">
        <div className="scale" aria-hidden="true">
          <span>{format(top)}</span>
          <span>{format(0)}</span>
        </div>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerMove={point}
          onPointerLeave={() => setAt(undefined)}
        >
          {[1, height / 2, height - 1].map((y) => (
            <line key={y} className="grid" x1={0} x2={width} y1={y} y2={y} />
          ))}
          {placed.length > 1 && (
            <>
              <polygon className={`area ${colour}`} points={`${placed[0]?.x},${height} ${line} ${placed.at(-1)?.x},${height}`} />
              <polyline className={`stroke ${colour}`} points={line} />
            </>
          )}
          {here && <line className="here" x1={here.x} x2={here.x} y1={0} y2={height} />}
        </svg>
      </div>
      <figcaption className="faint">
        {shown
          ? `${formatClock(shown.time)}: ${format(shown.value)}`
          : points[0]
            ? `since ${formatClock(points[0].time)}`
            : 'nothing measured yet'}
      </figcaption>
    </figure>
  );
}

/** What is far below its limit would be a flat line under it. */
function scaleTop(highest: number, limit: number | undefined): number {
  if (limit !== undefined && highest > limit / 4) return Math.max(limit, highest);
  return niceTop(Math.max(highest * 1.2, limit === undefined ? 1 : limit / 100));
}
