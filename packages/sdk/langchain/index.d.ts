import type { ToolMessage } from '@langchain/core/messages';
import { BaseToolkit, StructuredTool } from '@langchain/core/tools';
import type { Client } from '../dist/client.js';
import type { ClientOptions } from '../dist/connection.js';
import type { SkillTool, SkillToolsOptions } from '../dist/tools.js';

/** One skill. In an agent its answer is a message with the record of the execution as artifact; a skill that failed tells the model why. */
export declare class SkillboxTool extends StructuredTool {
  name: string;
  description: string;
  schema: Record<string, unknown>;
  readonly tool: SkillTool;
  constructor(tool: SkillTool);
  protected _call(args: unknown, manager?: unknown, config?: object): Promise<ToolMessage | string>;
}

export declare class SkillboxToolkit extends BaseToolkit {
  tools: SkillboxTool[];
  constructor(tools: readonly SkillTool[]);
  /** All skills of a box that a key sees, or those that are named. */
  static load(client: Client, options?: SkillToolsOptions): Promise<SkillboxToolkit>;
}

/** A tool for each skill, for createAgent, bindTools and whatever else takes tools. */
export declare function buildSkillboxToolkit(
  url: string,
  key: string,
  options?: ClientOptions & Pick<SkillToolsOptions, 'skills'>,
): Promise<SkillboxTool[]>;
