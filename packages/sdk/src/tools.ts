/** Skills as tools of a model: each one tool, typed by its own schema, in the words of whichever library calls the model. */

import type { Client } from './client.ts';
import type { CallOptions } from './connection.ts';
import { APIError } from './errors.ts';
import type { ExecutionResult } from './executions.ts';
import type { Skill } from './types.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What the model is told. */
export interface ToolAnswer {
  /** The output as JSON, with the names of files when there are some; instructions; or why it failed. */
  readonly content: string;
  /** The skill failed, or its input does not fit: the model may do better. What is wrong with the box is thrown. */
  readonly failed: boolean;
  readonly execution?: ExecutionResult;
}

export interface SkillTool {
  /** skillbox_data_analysis for data-analysis. */
  readonly name: string;
  readonly description: string;
  /** Of an object, always. */
  readonly schema: JsonSchema;
  readonly skill: Skill;
  run(args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolAnswer>;
}

export interface SkillToolsOptions extends CallOptions {
  /** Only these. Default: all that the key sees. */
  readonly skills?: readonly string[];
}

/** A tool for each skill, by name. */
export async function skillTools(client: Client, { skills, ...options }: SkillToolsOptions = {}): Promise<SkillTool[]> {
  const names = [...(skills ?? (await client.listSkills()).map(({ name }) => name))].sort();
  const tools: SkillTool[] = [];
  for (const name of names) {
    const plain = toolName(name);
    // Two skills whose names differ only in what a tool's name cannot hold: the second says which it is.
    const taken = tools.some((tool) => tool.name === plain);
    tools.push(toolOf(client, await client.skills.get(name, 'latest', options), taken ? toolName(name, await markOf(name)) : plain));
  }
  return tools;
}

/** For the Responses API of OpenAI. */
export function openaiTools(
  tools: readonly SkillTool[],
): { type: 'function'; name: string; description: string; parameters: Record<string, unknown>; strict: false }[] {
  // Not strict: that would allow only some of what a schema can say.
  return tools.map(({ name, description, schema }) => ({ type: 'function', name, description, parameters: { ...schema }, strict: false }));
}

/** For Chat Completions, as OpenAI and many others have it. */
export function openaiChatTools(
  tools: readonly SkillTool[],
): { type: 'function'; function: { name: string; description: string; parameters: Record<string, unknown> } }[] {
  return tools.map(({ name, description, schema }) => ({ type: 'function', function: { name, description, parameters: { ...schema } } }));
}

/** Does what a model asked for; `args` is the JSON that it wrote. What it got wrong is an answer to it. */
export async function callTool(tools: readonly SkillTool[], name: string, args: string, options?: CallOptions): Promise<ToolAnswer> {
  const tool = tools.find((one) => one.name === name);
  if (!tool) return { content: `There is no tool ${name}.`, failed: true };
  let given: unknown;
  try {
    given = JSON.parse(args === '' ? '{}' : args);
  } catch (error) {
    return { content: `The arguments are not JSON: ${(error as Error).message}`, failed: true };
  }
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    return { content: 'The arguments must be a JSON object.', failed: true };
  return tool.run(given as Record<string, unknown>, options);
}

/** For the Vercel AI SDK, which gives its own `jsonSchema`. A skill that failed throws there, as its tools do. */
export function aiTools<S>(
  tools: readonly SkillTool[],
  jsonSchema: (schema: Record<string, unknown>) => S,
): Record<
  string,
  { description: string; inputSchema: S; execute(args: unknown, options?: { abortSignal?: AbortSignal | undefined }): Promise<string> }
> {
  const entries = tools.map((tool) => {
    const execute = async (args: unknown, options: { abortSignal?: AbortSignal | undefined } = {}): Promise<string> => {
      const { content, failed } = await tool.run(args as Record<string, unknown>, { signal: options.abortSignal });
      if (failed) throw new Error(content);
      return content;
    };
    return [tool.name, { description: tool.description, inputSchema: jsonSchema({ ...tool.schema }), execute }] as const;
  });
  return Object.fromEntries(entries);
}

const longestName = 64;

function toolName(skill: string, mark = ''): string {
  const end = mark === '' ? '' : `_${mark}`;
  return `skillbox_${skill}`.replace(/\W/g, '_').slice(0, longestName - end.length) + end;
}

async function markOf(name: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name)));
  return [...hash.subarray(0, 3)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function toolOf(client: Client, skill: Skill, name: string): SkillTool {
  if (skill.mode === 'cognitive') {
    const description = `${skill.description}\n\nGives instructions to follow; it does not run anything.`;
    const answer = { content: skill.instructions, failed: false };
    return { name, description, schema: { type: 'object', properties: {} }, skill, run: async () => answer };
  }
  const { schema, wrapped } = objectSchema(skill.input_schema);
  const run: SkillTool['run'] = async (args, options = {}) => {
    try {
      return answerOf(await client.run(skill.name, wrapped ? args.input : args, { ...options, version: skill.version }));
    } catch (error) {
      if (error instanceof APIError && error.code === 'invalid_input') return { content: error.message, failed: true };
      throw error;
    }
  };
  return { name, description: skill.description, schema, skill, run };
}

/** Models give an object; a skill that takes something else gets it from a field. */
function objectSchema(schema: JsonSchema | null): { schema: JsonSchema; wrapped: boolean } {
  if (schema === null) return { schema: { type: 'object', properties: {}, additionalProperties: true }, wrapped: false };
  if (schema.type === 'object' || schema.properties !== undefined)
    return { schema: { properties: {}, ...schema, type: 'object' }, wrapped: false };
  return { schema: { type: 'object', properties: { input: schema }, required: ['input'] }, wrapped: true };
}

function answerOf(execution: ExecutionResult): ToolAnswer {
  const { status, output, error, files_list, logs } = execution;
  if (status !== 'success') {
    return { content: `${error?.code ?? status}: ${error?.message ?? ''}\n${logs.slice(-2000)}`.trim(), failed: true, execution };
  }
  const whole = execution.hasFiles ? { output, files: files_list.map(({ path }) => path) } : output;
  return { content: JSON.stringify(whole), failed: false, execution };
}
