/** The supervisor that keeps the graph healthy. */

import { pulseStatus } from '@skillbox/protocol';
import { z } from 'zod';
import { graphCommand } from './graph-command.ts';

/** Of who starts it, in the background or in the foreground. */
export const pulseInput = z.object({
  interval: z.number().positive().max(86_400).optional().describe('Seconds between two whole looks (SKILLBOX_PULSE_INTERVAL). Default 30'),
});

export const pulseCommands = [
  graphCommand({
    name: 'pulse',
    summary: 'Show what pulse sees and did',
    effect: 'read',
    input: z.object({}),
    output: pulseStatus,
    http: { method: 'GET', path: '/v1/runtime/pulse' },
    cli: { words: 'pulse status', examples: ['skillbox pulse status', 'skillbox pulse status --json'] },
    operate: async (runtime) => (await import('../graph/pulse/control.ts')).pulse(runtime),
  }),
  graphCommand({
    name: 'pulse.start',
    summary: 'Start pulse in the background; up does so by itself',
    effect: 'change',
    input: pulseInput,
    output: pulseStatus,
    http: { method: 'POST', path: '/v1/runtime/pulse/start' },
    cli: { words: 'pulse start', examples: ['skillbox pulse start', 'skillbox pulse start --interval 10'] },
    operate: async (runtime, { interval }) => (await import('../graph/pulse/control.ts')).startPulse(runtime, { interval }),
  }),
  graphCommand({
    name: 'pulse.stop',
    summary: 'Stop pulse; services go on, and nobody starts them again when they fall',
    effect: 'change',
    input: z.object({}),
    output: pulseStatus,
    http: { method: 'POST', path: '/v1/runtime/pulse/stop' },
    cli: { words: 'pulse stop', examples: ['skillbox pulse stop'] },
    operate: async (runtime) => (await import('../graph/pulse/control.ts')).stopPulse(runtime),
  }),
];
