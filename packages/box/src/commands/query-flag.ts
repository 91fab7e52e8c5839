import { z } from 'zod';

/** A switch that stands in a query, and in the shell. */
export const queryFlag = (fallback: boolean) =>
  z
    .union([z.boolean(), z.enum(['true', 'false'])])
    .default(fallback)
    .transform((value) => value === true || value === 'true');
