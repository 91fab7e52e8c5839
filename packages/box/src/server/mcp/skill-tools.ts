/** Skills as tools, one for one: the arguments are the input, the output is the answer, files are links to resources. */

import { BoxError, type Execution, isFinal } from '@skillbox/protocol';
import { describeExecution } from '../../executions/description.ts';
import type { Skill } from '../../skills/catalog.ts';
import { toolNameOfSkill } from '../../skills/tool-name.ts';
import { toolInput, toolOutput } from '../../skills/tool-schema.ts';
import { type Ask, may } from './ask.ts';
import { type Content, cut, link, longestText, type ToolResult, text } from './content.ts';
import { fileUri, logUri, outputUri } from './resources.ts';
import { isObject, type Params } from './rpc.ts';

/** Files beyond so many are named by their number; the whole list is in the record. */
const mostLinks = 50;
const logTail = 4000;
const progressEveryMs = 100;
const longestProgress = 200;

export const seesSkills = ({ caller }: Ask): boolean => may(caller, 'skills:read') && may(caller, 'executions:run');

export async function listSkillTools(ask: Ask, cursor: string | undefined, limit: number) {
  if (!seesSkills(ask)) return { tools: [], next: undefined };
  const { box, caller, modern } = ask;
  const { items, next_cursor } = await box.catalog.list(caller.tenant, { limit, ...(cursor !== undefined && { cursor }) });
  const runnable = items.filter(({ mode }) => mode === 'executable');
  const skills = await Promise.all(runnable.map(({ name, version }) => box.catalog.resolve(caller.tenant, name, version)));
  return { tools: skills.map((skill) => describe(skill, modern)), next: next_cursor ?? undefined };
}

export async function callSkill(ask: Ask, skill: Skill, args: Params): Promise<ToolResult> {
  const { box, caller, signal, modern } = ask;
  box.executions.requirePlace(caller.tenant);
  const input = toolInput(skill.definition.inputSchema).unwrap(args);
  const request = { skill: skill.name, version: skill.version, input, env: {}, files: {}, wait: true };
  const { id } = await box.executions.start(caller, request);
  const over = new AbortController();
  if (ask.progress) void tellProgress(ask, ask.progress, id, over.signal);
  try {
    const written = await box.executions.ended(id, signal);
    if (signal.aborted) await stop(ask, id);
    const record = written ? describeExecution(written, () => '') : await box.executions.get(id, caller.tenant, () => '');
    return resultOf(record, toolOutput(skill.definition.outputSchema, modern) !== undefined, ask);
  } finally {
    over.abort();
  }
}

function describe({ name, version, definition }: Skill, modern: boolean) {
  const outputSchema = toolOutput(definition.outputSchema, modern);
  return {
    name: toolNameOfSkill(name),
    title: name,
    description: definition.description,
    inputSchema: toolInput(definition.inputSchema).schema,
    ...(outputSchema && { outputSchema }),
    // It runs in a sandbox of its own, and leaves nothing but its record.
    annotations: { title: name, readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    _meta: { 'skillbox/skill': name, 'skillbox/version': version },
  };
}

/** Whoever asked has taken it back: nobody will read the end. */
async function stop({ box, caller }: Ask, id: string): Promise<void> {
  const row = await box.executions.row(id, caller.tenant);
  if (isFinal(row.status as Execution['status'])) return;
  await box.executions.cancel(row).catch((error) => {
    // It ended by itself in between.
    if (!(error instanceof BoxError) || error.code !== 'already_finished') throw error;
  });
}

/** The last line it wrote, now and then. That it cannot be told is no reason to fail the run. */
async function tellProgress({ box, caller }: Ask, progress: (message: string) => void, id: string, signal: AbortSignal): Promise<void> {
  try {
    let told = 0;
    for await (const { type, text: said } of box.executions.follow(await box.executions.row(id, caller.tenant), 0, signal)) {
      if (signal.aborted) return;
      const line = type === 'status' ? said : (said.trimEnd().split('\n').at(-1) ?? '');
      // The end is told by the answer.
      if (line === '' || (type === 'status' && said !== 'running') || performance.now() - told < progressEveryMs) continue;
      if (type !== 'status') told = performance.now();
      progress(line.length > longestProgress ? `${line.slice(0, longestProgress)}…` : line);
    }
  } catch (error) {
    box.log.warn({ err: error, execution: id }, 'the progress of a run could not be told to an MCP client');
  }
}

function resultOf(record: Execution, hasSchema: boolean, { caller, modern }: Ask): ToolResult {
  const links = may(caller, 'executions:read');
  const id = record.execution_id;
  const meta = {
    _meta: { 'skillbox/execution': { id, status: record.status, version: record.skill_version, duration_ms: record.duration_ms } },
  };
  const files = links ? fileLinks(record) : [];
  if (record.status !== 'success') {
    const { code, message } = record.error ?? { code: record.status, message: `The execution is ${record.status}.` };
    const tail = record.logs.length > logTail ? `…${record.logs.slice(-logTail)}` : record.logs;
    const said = `${code}: ${message}${detailsOf(record)}${tail === '' ? '' : `\n\nIts log ends with:\n${tail}`}\n\nexecution ${id}`;
    return { content: [text(said), ...files], isError: true, ...meta };
  }
  const json = JSON.stringify(record.output);
  const large = json.length > longestText;
  const whole = links ? `The whole output is the resource ${outputUri(id)}.` : `The whole output is in the record of execution ${id}.`;
  const content = [
    text(record.output === null ? cut(record.logs, `The whole log is the resource ${logUri(id)}.`) || 'Done.' : cut(json, whole)),
    ...(large && links ? [link(outputUri(id), 'output.json', { size: Buffer.byteLength(json) })] : []),
    ...files,
  ];
  // A tool with an output schema owes its output whole; without one what is large is fetched by who wants it.
  const structured = record.output !== null && (modern || isObject(record.output)) && (hasSchema || !large);
  return { content, ...(structured && { structuredContent: record.output }), ...meta };
}

const detailsOf = ({ error }: Execution): string => (error?.details === undefined ? '' : `\n${JSON.stringify(error.details)}`);

function fileLinks({ execution_id: id, files_list: files }: Execution): Content[] {
  const shown = files.slice(0, mostLinks).map(({ path, size }) => link(fileUri(id, path), path, { size }));
  return files.length > mostLinks ? [...shown, text(`${files.length - mostLinks} more files.`)] : shown;
}
