import { describe, expect, it } from 'vitest';
import { layOut, pathOf, size } from './layout.ts';

const needs = (of: Record<string, string[]>) => new Map(Object.entries(of));

describe('layOut', () => {
  it('puts what is needed left of what needs it, however far', () => {
    const { nodes } = layOut(['web', 'api', 'db', 'repo'], needs({ web: ['api', 'repo'], api: ['db'] }));
    const x = (key: string) => nodes.get(key)?.x ?? -1;
    expect(x('db')).toBeLessThan(x('api'));
    expect(x('api')).toBeLessThan(x('web'));
    expect(x('repo')).toBeLessThan(x('web'));
  });

  it('gives each a place of its own', () => {
    const keys = Array.from({ length: 60 }, (_, at) => `n${at}`);
    const { nodes, width, height } = layOut(keys, new Map(keys.slice(1).map((key, at) => [key, [`n${Math.floor(at / 2)}`]])));
    expect(new Set([...nodes.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(60);
    for (const { x, y } of nodes.values()) {
      expect(x + size.width).toBeLessThanOrEqual(width);
      expect(y + size.height).toBeLessThanOrEqual(height);
    }
  });

  it('untangles two lines that would cross', () => {
    const { nodes } = layOut(['a', 'b', 'x', 'y'], needs({ x: ['b'], y: ['a'] }));
    const y = (key: string) => nodes.get(key)?.y ?? -1;
    expect(y('a') < y('b')).toBe(y('y') < y('x'));
  });

  it('leads a line over several columns around what stands between', () => {
    const { nodes, lines } = layOut(['a', 'b', 'c'], needs({ b: ['a'], c: ['a', 'b'] }));
    const long = lines.find(({ from, to }) => from === 'a' && to === 'c');
    const between = long?.points.slice(1, -1) ?? [];
    expect(between).toHaveLength(2);
    const b = nodes.get('b') ?? { x: 0, y: 0 };
    for (const { y } of between) expect(y < b.y || y > b.y + size.height).toBe(true);
  });

  it('ends for a circle, and for what needs what is not there', () => {
    const { nodes, lines } = layOut(['a', 'b'], needs({ a: ['b'], b: ['a', 'gone'] }));
    expect(nodes.size).toBe(2);
    expect(lines.every(({ from }) => from !== 'gone')).toBe(true);
  });

  it('lays out two thousand in well under a second', () => {
    const keys = Array.from({ length: 2000 }, (_, at) => `n${at}`);
    const from = performance.now();
    layOut(keys, new Map(keys.slice(1).map((key, at) => [key, [`n${Math.floor(at / 3)}`, `n${Math.floor(at / 5)}`]])));
    expect(performance.now() - from).toBeLessThan(3000);
  });
});

it('draws a line that is level at its ends', () => {
  expect(
    pathOf([
      { x: 0, y: 0 },
      { x: 10, y: 0 },
      { x: 20, y: 8 },
    ]),
  ).toBe('M0 0L10 0C15 0 15 8 20 8');
});
