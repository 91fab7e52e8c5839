import { z } from 'zod';

/** Where the server listens. Texts, because configuration parses them like the variables they stand for. */
export const listening = {
  bind: z.string().optional().describe('Address to listen on (SKILLBOX_BIND). Default 127.0.0.1').meta({ placeholder: 'address' }),
  port: z
    .string()
    .regex(/^\d{1,5}$/, 'expected a port')
    .optional()
    .describe('Port to listen on (SKILLBOX_API_PORT); 0 takes a free one. Default 8080')
    .meta({ placeholder: 'port' }),
};
