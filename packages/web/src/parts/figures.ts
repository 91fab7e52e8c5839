import type { ExecutionFigures } from '@skillbox/sdk';

/** Steps without any executions are left out by the box, and stand in the chart. */
export function everyStep({ since, until, step_seconds, points }: ExecutionFigures) {
  const stepMs = step_seconds * 1000;
  const byTime = new Map(points.map((point) => [Date.parse(point.time), point]));
  const steps = [];
  const sameDay = Date.parse(until) - Date.parse(since) < 86_000_000;
  for (let time = Math.floor(Date.parse(since) / stepMs) * stepMs; time <= Date.parse(until); time += stepMs) {
    const point = byTime.get(time);
    const date = new Date(time);
    const label = sameDay
      ? date.toLocaleTimeString('en-GB')
      : date.toLocaleString('en-GB', { day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit' });
    steps.push({ label, values: [point?.success ?? 0, point?.failed ?? 0, point?.other ?? 0] });
  }
  return steps;
}
