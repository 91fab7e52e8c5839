/**
 * Commands that the workspace may use through its channel: those of the graph. The supervisor is the operator's, who is to know that it
 * runs: from inside one can look at it, not start or stop it.
 */

import type { Command } from './command.ts';

const ofOperator: readonly string[] = ['pulse.start', 'pulse.stop'];

export const isForInside = ({ name, own }: Pick<Command, 'name' | 'own'>): boolean => own !== undefined && !ofOperator.includes(name);
