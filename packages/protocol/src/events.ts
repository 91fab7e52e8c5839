import { z } from 'zod';
import { tenantId, timestamp } from './ids.ts';

export const actorKinds = ['adm', 'agt', 'atm'] as const;
export const actorKind = z.enum(actorKinds).describe('Who acts: adm a person, agt an agent, atm automation');

/** The one envelope: lifecycle, audit, output and, later, sessions and missions are readings of it. */
export const eventEnvelope = z
  .object({
    seq: z.number().int().describe('Position in the box; grows, may have gaps'),
    id: z.string().describe('Unique id'),
    time: timestamp,
    tenant: tenantId,
    actor: z.object({ kind: actorKind, id: z.string() }).describe('Who caused it'),
    host: z.string().describe('Host that recorded it'),
    subject: z.object({ type: z.string(), id: z.string() }).describe('What it is about'),
    type: z.string().describe('What happened, such as execution.finished'),
    data: z.record(z.string(), z.unknown()).describe('The particulars'),
  })
  .meta({ id: 'Event' });

export type ActorKind = (typeof actorKinds)[number];
export type BoxEvent = z.infer<typeof eventEnvelope>;
