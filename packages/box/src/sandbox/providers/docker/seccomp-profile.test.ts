import { describe, expect, it } from 'vitest';
import { filterRules } from '../guest/seccomp.ts';
import { syscalls } from '../guest/syscalls.ts';
import { type SeccompProfile, seccompProfile } from './seccomp-profile.ts';

const profile = seccompProfile('x64');

describe('the filter for container engines', () => {
  it('names every call that the box allows, and no other', () => {
    const named = new Set(profile.syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names));
    const expected = [...filterRules.allowed, ...filterRules.byArgument.map(({ name }) => name)].filter((name) => syscalls.x64.has(name));
    expect([...named].sort()).toEqual([...new Set(expected)].sort());
    for (const name of ['ptrace', 'mount', 'bpf', 'unshare', 'setns', 'keyctl', 'kexec_load']) expect(named).not.toContain(name);
  });

  it('says of some calls that there are none, so that programs fall back', () => {
    expect(profile.syscalls.filter(({ action }) => action === 'SCMP_ACT_ERRNO')).toEqual([
      { names: ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
    ]);
  });

  it.each([
    ['ioctl', 0x5412n, false],
    ['ioctl', 0x541cn, false],
    ['ioctl', 0x1_0000_5412n, false],
    ['ioctl', 0xffff_ffff_0000_541cn, false],
    ['ioctl', 0x5411n, true],
    ['ioctl', 0x5413n, true],
    ['ioctl', 0n, true],
    ['ioctl', 0xffff_ffffn, true],
    ['clone', 0x0120_0011n, true],
    ['clone', 0x1000_0000n, false],
    ['clone', 0x0002_0000n, false],
    ['socket', 1n, true],
    ['socket', 40n, false],
    ['socketpair', 2n, false],
    ['personality', 0xffff_ffffn, true],
    ['personality', 0x0040_0000n, false],
  ])('%s with %d is allowed: %s', (name, value, expected) => {
    expect(allows(profile, name, value)).toBe(expected);
  });

  it('refuses by argument exactly what it should, near the refused and far from them', () => {
    for (let value = 0x5000; value < 0x5800; value += 1) {
      expect(allows(profile, 'ioctl', BigInt(value))).toBe(value !== 0x5412 && value !== 0x541c);
    }
  });
});

function allows({ syscalls: rules }: SeccompProfile, name: string, value: bigint): boolean {
  return rules.some(
    ({ names, action, args = [] }) =>
      action === 'SCMP_ACT_ALLOW' && names.includes(name) && args.every((test) => (value & BigInt(test.value)) === BigInt(test.valueTwo)),
  );
}
