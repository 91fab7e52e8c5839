/** Claude Code from npm, as tests run it. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

const program = join(import.meta.dirname, '../agents/node_modules/.bin/claude');

export function claudeProgram(): string {
  if (!existsSync(program)) throw new Error('Claude Code is not there: run scripts/setup.sh test.');
  return program;
}

/** Nothing that it would ask of the world. */
export const quietClaude = {
  ANTHROPIC_API_KEY: 'scripted',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  ENABLE_TOOL_SEARCH: 'false',
  MCP_TIMEOUT: '20000',
};
