import { z } from 'zod';
import { tenantId, timestamp } from './ids.ts';
import { sandboxId } from './sandboxes.ts';

/** Kept as whole millionths, so that sums are exact. */
const credits = z.number().nonnegative();

export const creditAmount = z.number().min(0.000001).max(1_000_000_000).describe('Credits, exact to a millionth');

export const creditBalance = z
  .object({
    tenant: tenantId,
    available: credits.describe('What new sandboxes can be paid with'),
    held: credits.describe('Set aside for sandboxes that live'),
    spent: credits.describe('Settled so far'),
    granted: credits.describe('available + held + spent'),
  })
  .meta({ id: 'CreditBalance' });

export const creditEntryKinds = ['grant', 'hold', 'settle', 'release'] as const;

export const creditEntry = z
  .object({
    seq: z.number().int().describe('Order in the ledger'),
    time: timestamp,
    tenant: tenantId,
    kind: z.enum(creditEntryKinds).describe('grant: added; hold: set aside; settle: spent of what was held; release: held no longer'),
    amount: credits,
    sandbox: sandboxId.nullable(),
    note: z.string().nullable(),
    actor: z.string(),
  })
  .meta({ id: 'CreditEntry' });

export type CreditBalance = z.infer<typeof creditBalance>;
export type CreditEntry = z.infer<typeof creditEntry>;
export type CreditEntryKind = (typeof creditEntryKinds)[number];
