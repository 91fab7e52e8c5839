import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareVersions, latestOf, nextFree } from './versions.ts';

const version = fc
  .tuple(fc.nat(20), fc.nat(20), fc.nat(20), fc.constantFrom('', '-rc.1', '-alpha'))
  .map(([a, b, c, tag]) => `${a}.${b}.${c}${tag}`);

describe('versions', () => {
  it('orders by number, not by text', () => {
    expect(['1.10.0', '1.9.0', '1.9.0-rc.1', '1.9.0-rc.2'].sort(compareVersions)).toEqual(['1.9.0-rc.1', '1.9.0-rc.2', '1.9.0', '1.10.0']);
  });

  it('takes the highest release as latest, whatever order they came in', () => {
    expect(latestOf(['1.0.0', '1.10.0', '1.9.0'])).toBe('1.10.0');
    expect(latestOf(['1.0.0', '2.0.0-rc.1'])).toBe('1.0.0');
    expect(latestOf(['2.0.0-rc.1', '2.0.0-rc.2'])).toBe('2.0.0-rc.2');
    expect(latestOf([])).toBeUndefined();
  });

  it('finds the next free patch', () => {
    expect(nextFree('1.0.0', [])).toBe('1.0.0');
    expect(nextFree('1.0.0', ['1.0.0'])).toBe('1.0.1');
    expect(nextFree('1.0.0', ['1.0.0', '1.0.1', '1.0.3'])).toBe('1.0.2');
    expect(nextFree('1.0.0-rc.1', ['1.0.0-rc.1'])).toBe('1.0.1');
  });

  it('holds for any set of versions', () => {
    fc.assert(
      fc.property(version, fc.array(version), (wanted, existing) => {
        const free = nextFree(wanted, existing);
        expect(existing).not.toContain(free);
        expect(compareVersions(free, wanted)).toBeGreaterThanOrEqual(0);
        const latest = latestOf(existing);
        if (latest && !latest.includes('-'))
          for (const other of existing) if (!other.includes('-')) expect(compareVersions(latest, other)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
