/** Small charts, drawn here: a few hundred points do not need a library. */

import { type ReactNode, useId, useState } from 'react';
import './charts.css';

export interface Series {
  readonly name: string;
  readonly colour: string;
}

interface BarsProps {
  readonly series: readonly Series[];
  /** One value for each series. */
  readonly points: readonly { readonly label: string; readonly values: readonly number[] }[];
  readonly title: string;
  readonly height?: number;
  format(value: number): string;
}

/** Bars on top of each other over time. */
export function StackedBars({ series, points, title, height = 140, format }: BarsProps) {
  const [at, setAt] = useState<number>();
  const id = useId();
  const width = 600;
  const sums = points.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const top = niceTop(Math.max(1, ...sums));
  const step = width / Math.max(1, points.length);
  const shown = at === undefined ? undefined : points[at];
  const total = series.map((_, index) => points.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption id={id}>
        <span className="visually-hidden">
          {title}: {series.map(({ name }, index) => `${name} ${format(total[index] ?? 0)}`).join(', ')}
        </span>
        <Legend
          items={series.map(({ name, colour }, index) => ({ name, colour, value: shown ? format(shown.values[index] ?? 0) : undefined }))}
        >
          {shown?.label}
        </Legend>
      </figcaption>
      <div className="plot">
        <Scale top={top} format={format} />
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true" onPointerLeave={() => setAt(undefined)}>
          <Grid width={width} height={height} />
          {points.map(({ label, values }, index) => {
            let below = height;
            return (
              <g key={label} onPointerEnter={() => setAt(index)}>
                <rect x={index * step} y={0} width={step} height={height} className={index === at ? 'slot here' : 'slot'} />
                {values.map((value, which) => {
                  const tall = (value / top) * (height - 4);
                  below -= tall;
                  return (
                    <rect
                      key={series[which]?.name}
                      x={index * step + step * 0.12}
                      y={below}
                      width={step * 0.76}
                      height={tall}
                      className={series[which]?.colour}
                    />
                  );
                })}
              </g>
            );
          })}
        </svg>
      </div>
    </figure>
  );
}

interface LineProps {
  readonly title: string;
  readonly values: readonly number[];
  /** The highest there can be; without it, the highest there was. */
  readonly top?: number;
  readonly colour?: string;
  readonly height?: number;
}

/** One line without axes, for beside a number. */
export function Sparkline({ title, values, top, colour = 'fill-1', height = 32 }: LineProps) {
  const width = 160;
  const highest = top ?? Math.max(1e-9, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 1 - (value / highest) * (height - 2)).toFixed(1)}`);
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={title}>
      {points.length > 1 && (
        <>
          <polygon className={`area ${colour}`} points={`0,${height} ${points.join(' ')} ${width},${height}`} />
          <polyline className={`stroke ${colour}`} points={points.join(' ')} />
        </>
      )}
    </svg>
  );
}

/** How much of a whole is used. */
export function Meter({ title, share, tone = 'fill-1' }: { readonly title: string; readonly share: number; readonly tone?: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <div className="meter" role="meter" aria-label={title} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100}>
      <span
        className={share > 0.9 ? 'ground-bad' : share > 0.75 ? 'ground-warn' : tone.replace('fill', 'ground')}
        style={{ width: `${percent}%` }}
      />
    </div>
  );
}

interface SpansProps {
  readonly title: string;
  readonly rows: readonly {
    readonly name: string;
    readonly from: number;
    readonly to: number;
    readonly colour: string;
    readonly text: string;
  }[];
}

/** Phases one after the other, each where it was in time. */
export function Waterfall({ title, rows }: SpansProps) {
  const whole = Math.max(1e-6, ...rows.map(({ to }) => to));
  return (
    <ul className="waterfall" aria-label={title}>
      {rows.map(({ name, from, to, colour, text }) => (
        <li key={name}>
          <span className="name">{name}</span>
          <span className="track">
            <span
              className={`span ${colour.replace('fill', 'ground')}`}
              style={{ left: `${(from / whole) * 100}%`, width: `max(2px, ${((to - from) / whole) * 100}%)` }}
            />
          </span>
          <span className="value">{text}</span>
        </li>
      ))}
    </ul>
  );
}

export function Legend({
  items,
  children,
}: {
  readonly items: readonly { readonly name: string; readonly colour: string; readonly value?: string | undefined }[];
  readonly children?: ReactNode;
}) {
  return (
    <span className="legend">
      {items.map(({ name, colour, value }) => (
        <span key={name}>
          <i className={colour.replace('fill', 'ground')} />
          {name}
          {value !== undefined && <b>{value}</b>}
        </span>
      ))}
      <span className="when">{children}</span>
    </span>
  );
}

function Scale({ top, format }: { readonly top: number; format(value: number): string }) {
  return (
    <div className="scale" aria-hidden="true">
      <span>{format(top)}</span>
      <span>{format(top / 2)}</span>
      <span>{format(0)}</span>
    </div>
  );
}

function Grid({ width, height }: { readonly width: number; readonly height: number }) {
  return (
    <>
      {[0.02, 0.5, 0.995].map((share) => (
        <line key={share} className="grid" x1={0} x2={width} y1={height * share} y2={height * share} />
      ))}
    </>
  );
}

/** A round number that is not below. */
export function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 4, 5, 10].find((each) => each * power >= value) ?? 10;
  return step * power;
}
