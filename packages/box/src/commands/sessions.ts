/** Durable timelines of work notes, one per piece of work and client. */

import { graphClient, sessionEvent, sessionId, sessionStates, workSession } from '@skillbox/protocol';
import { z } from 'zod';
import { graphCommand } from './graph-command.ts';

const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\0]*$/, 'no NUL byte');
const ended = sessionStates.filter((state) => state !== 'active');

export const sessionCommands = [
  graphCommand({
    name: 'session.start',
    summary: 'Begin a session of a client',
    effect: 'change',
    input: z.object({
      client_id: graphClient,
      label: text(200).optional().describe('What it is about, in a few words'),
      goal: text(4000).optional().describe('What should be true at its end'),
    }),
    output: workSession,
    http: { method: 'POST', path: '/v1/runtime/sessions' },
    cli: { words: 'session start', args: ['client_id'], examples: ["skillbox session start personal --label 'search is slow'"] },
    operate: async (runtime, input) => (await import('../graph/sessions/sessions.ts')).startSession(runtime, input),
  }),
  graphCommand({
    name: 'session.event',
    summary: 'Add an event to a session that is active',
    effect: 'change',
    input: z.object({
      id: sessionId,
      type: z
        .string()
        .regex(/^[a-z][a-z0-9_.-]{0,63}$/, 'a word such as note or decision')
        .default('note')
        .describe('Kind of event'),
      message: text(10_000).describe('What happened'),
      detail: z.record(z.string(), z.unknown()).optional().describe('More, as JSON'),
    }),
    output: sessionEvent,
    http: { method: 'POST', path: '/v1/runtime/sessions/:id/events' },
    cli: {
      words: 'session event',
      args: ['id', 'message'],
      examples: ["skillbox session event 20260102-030405-0a1b2c 'the index was missing' --type decision"],
    },
    operate: async (runtime, input) => (await import('../graph/sessions/sessions.ts')).addSessionEvent(runtime, input),
  }),
  graphCommand({
    name: 'session.heartbeat',
    summary: 'Tell that somebody still works on a session',
    effect: 'change',
    input: z.object({ id: sessionId }),
    output: workSession,
    http: { method: 'POST', path: '/v1/runtime/sessions/:id/heartbeat' },
    cli: { words: 'session heartbeat', args: ['id'], examples: ['skillbox session heartbeat 20260102-030405-0a1b2c'] },
    operate: async (runtime, { id }) => (await import('../graph/sessions/sessions.ts')).beatSession(runtime, id),
  }),
  graphCommand({
    name: 'session.end',
    summary: 'End a session, with what the next one should know',
    effect: 'change',
    input: z.object({
      id: sessionId,
      state: z.enum(ended).default('completed').describe('How it ended'),
      summary: text(20_000).optional().describe('Handed over in handoff.md'),
    }),
    output: workSession,
    http: { method: 'POST', path: '/v1/runtime/sessions/:id/end' },
    cli: { words: 'session end', args: ['id'], examples: ["skillbox session end 20260102-030405-0a1b2c --summary 'index added'"] },
    operate: async (runtime, input) => (await import('../graph/sessions/sessions.ts')).endSession(runtime, input),
  }),
  graphCommand({
    name: 'session.resume',
    summary: 'Go on with a session that ended',
    effect: 'change',
    input: z.object({ id: sessionId }),
    output: workSession,
    http: { method: 'POST', path: '/v1/runtime/sessions/:id/resume' },
    cli: { words: 'session resume', args: ['id'], examples: ['skillbox session resume 20260102-030405-0a1b2c'] },
    operate: async (runtime, { id }) => (await import('../graph/sessions/sessions.ts')).resumeSession(runtime, id),
  }),
  graphCommand({
    name: 'session.status',
    summary: 'List sessions, the newest first',
    effect: 'read',
    input: z.object({
      client_id: graphClient.optional(),
      state: z.enum(sessionStates).optional().describe('Only these'),
      limit: z.coerce.number().int().min(1).max(500).default(50),
    }),
    output: z.object({ items: z.array(workSession) }).meta({ id: 'WorkSessions' }),
    http: { method: 'GET', path: '/v1/runtime/sessions' },
    cli: { words: 'session status', examples: ['skillbox session status', 'skillbox session status --client-id personal --state active'] },
    operate: async (runtime, input) => (await import('../graph/sessions/sessions.ts')).listSessions(runtime, input),
  }),
  graphCommand({
    name: 'session.show',
    summary: 'Show a session with its events',
    effect: 'read',
    input: z.object({ id: sessionId }),
    output: workSession.extend({ timeline: z.array(sessionEvent), handoff: z.string().nullable() }).meta({ id: 'WorkSessionDetail' }),
    http: { method: 'GET', path: '/v1/runtime/sessions/:id' },
    cli: { words: 'session show', args: ['id'], examples: ['skillbox session show 20260102-030405-0a1b2c'] },
    operate: async (runtime, { id }) => (await import('../graph/sessions/sessions.ts')).showSession(runtime, id),
  }),
];
