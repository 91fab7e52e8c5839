import { z } from 'zod';

export const errorBody = z
  .object({
    error: z.string().describe('Stable code'),
    message: z.string(),
    hint: z.string().optional(),
    details: z.unknown().optional(),
    request_id: z.string(),
  })
  .meta({ id: 'Error' });

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('Most items per page'),
  cursor: z.string().max(512).optional().describe('next_cursor of the page before'),
};

export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable().describe('null on the last page') });

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export type ErrorBody = z.infer<typeof errorBody>;
