/** The log: lines that an operator can read, that say what happened, and no defect of ours among them. */

import type { Fault } from './faults.ts';
import type { World } from './world.ts';

interface Line {
  readonly level?: string;
  readonly msg?: string;
  readonly err?: { readonly type?: string; readonly message?: string; readonly stack?: string };
}

/** Mistakes in the program, as opposed to a world that lets it down. */
const defects = /^(TypeError|ReferenceError|RangeError|SyntaxError|AssertionError|AggregateError)$/;

/** `ends`: how executions ended in this round. */
export function auditLog(world: World, fault: Fault, ends: Readonly<Record<string, number>>): string[] {
  const findings: string[] = [];
  const text = world.said();
  for (const line of text.split('\n').filter(Boolean)) {
    const parsed = parse(line);
    if (!parsed) findings.push(`not a line of the log: ${line.slice(0, 300)}`);
    else if (!parsed.msg) findings.push(`a line that says nothing: ${line.slice(0, 300)}`);
    else if (parsed.err && (defects.test(parsed.err.type ?? '') || !parsed.err.message))
      findings.push(`the log shows a defect: ${line.slice(0, 600)}`);
  }
  const felt = Object.keys(ends).some((end) => fault.costs.includes(end.split(' ')[1] ?? ''));
  if ((felt || !fault.mayPassUnnoticed) && !fault.says.test(text)) findings.push(`the log does not say what happened (${fault.says})`);
  return findings;
}

function parse(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}
