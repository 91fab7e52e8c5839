/** The box's system call filter in the form that container engines take: the same rules, no second list. */

import { type ArgumentRule, filterRules } from '../guest/seccomp.ts';
import { type Architecture, syscalls } from '../guest/syscalls.ts';

export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly architectures: readonly string[];
  readonly syscalls: readonly SyscallRule[];
}

interface SyscallRule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  readonly args?: readonly MaskedEqual[];
}

/** The argument, masked with `value`, is `valueTwo`. */
interface MaskedEqual {
  readonly index: number;
  readonly value: number;
  readonly valueTwo: number;
  readonly op: 'SCMP_CMP_MASKED_EQ';
}

const architectureNames: Record<Architecture, string> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' };

/** One architecture and no other: what a 32-bit program asks for is judged by no rule of ours. */
export function seccompProfile(architecture: Architecture): SeccompProfile {
  const isKnown = (name: string): boolean => syscalls[architecture].has(name);
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    architectures: [architectureNames[architecture]],
    syscalls: [
      { names: filterRules.allowed.filter(isKnown), action: 'SCMP_ACT_ALLOW' },
      { names: filterRules.absent.filter(isKnown), action: 'SCMP_ACT_ERRNO', errnoRet: filterRules.absentErrno },
      ...filterRules.byArgument.filter(({ name }) => isKnown(name)).flatMap(argumentRules),
    ],
  };
}

/** Each comparison in a rule of its own: engines read several on one argument as "or". */
function argumentRules(rule: ArgumentRule): SyscallRule[] {
  return patterns(rule).map(({ mask, bits }) => ({
    names: [rule.name],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: rule.argument, value: mask, valueTwo: bits, op: 'SCMP_CMP_MASKED_EQ' }],
  }));
}

interface Pattern {
  readonly mask: number;
  readonly bits: number;
}

function patterns(rule: ArgumentRule): Pattern[] {
  if ('refuseBits' in rule) return [{ mask: rule.refuseBits, bits: 0 }];
  if ('allow' in rule) return rule.allow.map((bits) => ({ mask: 0xffffffff, bits }));
  return allBut(rule.refuse);
}

/**
 * Masks over the low 32 bits that fit every number but these. "Not equal" would look at all 64 bits, of which the kernel
 * drops the upper half: 0x100005412 would pass as something else and arrive as 0x5412.
 */
function allBut(refused: readonly number[], mask = 0, bits = 0, bit = 31): Pattern[] {
  if (refused.length === 0) return [{ mask, bits }];
  if (bit < 0) return [];
  const weight = 2 ** bit;
  const isSet = (value: number): boolean => Math.floor(value / weight) % 2 === 1;
  return [
    ...allBut(
      refused.filter((value) => !isSet(value)),
      mask + weight,
      bits,
      bit - 1,
    ),
    ...allBut(refused.filter(isSet), mask + weight, bits + weight, bit - 1),
  ];
}
