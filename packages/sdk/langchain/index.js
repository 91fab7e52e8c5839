/** Skills as tools of LangChain. Needs @langchain/core, which whoever uses LangChain has; so it is not built here, but as it is. */

import { ToolMessage } from '@langchain/core/messages';
import { BaseToolkit, StructuredTool } from '@langchain/core/tools';
import { Client } from '../dist/client.js';
import { skillTools } from '../dist/tools.js';

export class SkillboxTool extends StructuredTool {
  constructor(tool) {
    // Says what was wrong with its input, so that the model can do better.
    super({ verboseParsingErrors: true });
    this.tool = tool;
    this.name = tool.name;
    this.description = tool.description;
    this.schema = tool.schema;
  }

  async _call(args, _manager, config) {
    const { content, failed, execution } = await this.tool.run(args, { signal: config?.signal });
    const id = config?.toolCall?.id;
    if (id !== undefined) {
      return new ToolMessage({ content, artifact: execution, status: failed ? 'error' : 'success', name: this.name, tool_call_id: id });
    }
    if (failed) throw new Error(content);
    return content;
  }
}

export class SkillboxToolkit extends BaseToolkit {
  constructor(tools) {
    super();
    this.tools = tools.map((tool) => new SkillboxTool(tool));
  }

  static async load(client, options) {
    return new SkillboxToolkit(await skillTools(client, options));
  }
}

export async function buildSkillboxToolkit(url, key, { skills, ...options } = {}) {
  return (await SkillboxToolkit.load(new Client(url, key, options), { skills })).tools;
}
