import { z } from 'zod';

export const skillNamePattern = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/;
export const tenantPattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const versionPattern = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
export const keyPattern = /^(?:sk-|e2b_)([0-9a-f]{48})$/;

export const skillName = z
  .string()
  .regex(skillNamePattern, 'letters, digits, dots, dashes and underscores, up to 128')
  .describe('Name of the skill');
export const skillVersion = z.string().regex(versionPattern, 'a semantic version such as 1.2.3').describe('Semantic version of the skill');
export const versionOrLatest = z
  .union([z.literal('latest'), skillVersion])
  .describe('A version, or latest: the highest one, pre-releases only when there is nothing else');
export const tenantId = z.string().regex(tenantPattern, 'lower-case letters, digits, dashes and underscores, up to 63').describe('Tenant');
export const executionId = z.uuid().describe('Id of the execution');
export const keyId = z
  .string()
  .regex(/^key_[0-9a-f]{16}$/, 'an id such as key_0123456789abcdef')
  .describe('Id of the key (not the key)');
export const timestamp = z.iso.datetime().describe('Time in ISO 8601, UTC');
