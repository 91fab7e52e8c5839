/** skillbox mcp: the MCP server of a box on stdin and stdout, for clients that start their servers. */

import { z } from 'zod';
import type { CliContext, Leaf, Outcome } from './leaf.ts';

export const mcpLeaf: Leaf = {
  name: 'mcp',
  words: 'mcp',
  summary: 'Be an MCP server on stdin and stdout, for agents that start one',
  description:
    'Passes messages on to /mcp of a running box, with the key that other commands use. An agent that speaks HTTP needs no such process: see mcp install.',
  examples: ['skillbox mcp', 'skillbox mcp --server http://127.0.0.1:8080'],
  input: z.object({}),
  args: [],
  remote: true,
  async run({ config }: CliContext): Promise<Outcome> {
    const [{ findConnection }, { bridge }] = await Promise.all([import('./connection.ts'), import('./mcp-bridge.ts')]);
    await bridge(findConnection(config()), process.stdin, (line) => void process.stdout.write(line));
    return {};
  },
};
