// The Vercel AI SDK with the skills of a box as tools. The model is its own mock, scripted, so that this runs offline and checks itself;
// put openai('…') or another model in its place and nothing else changes.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from '@skillbox/sdk';
import { aiTools, skillTools } from '@skillbox/sdk/tools';
import { generateText, jsonSchema, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

const { SKILLBOX_URL: url = 'http://localhost:8080', SKILLBOX_API_KEY: key = '' } = process.env;
const box = new Client(url, key);
for (const name of ['data-analysis', 'word-counter']) await box.registerSkill(join(import.meta.dirname, '../skills', name));

const tools = aiTools(await skillTools(box, { skills: ['data-analysis', 'word-counter'] }), jsonSchema);

const script = [
  calls('skillbox_data_analysis', { csv: 'name,age\nAlice,30\nBob,25' }),
  // The skill refuses: the model is told why, and corrects itself.
  calls('skillbox_word_counter', { text: 'Alice', top: 0 }),
  calls('skillbox_word_counter', { text: 'Alice and Bob and Carol' }),
  { content: [{ type: 'text', text: 'The mean age is 27.5.' }], finishReason: { unified: 'stop', raw: 'stop' } },
];
const seen = [];
const model = new MockLanguageModelV3({
  async doGenerate(request) {
    seen.push(request);
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    return { ...script[seen.length - 1], usage, warnings: [] };
  },
});

const { text, steps } = await generateText({
  ...{ model, tools, stopWhen: stepCountIs(5) },
  prompt: 'Analyze this data: name,age\nAlice,30\nBob,25',
});
for (const { toolResults } of steps) for (const { toolName, output } of toolResults) console.log(`${toolName}: ${output.slice(0, 100)}`);
console.log(text);

// What the model was offered: each skill with its own schema.
const offered = Object.fromEntries(seen[0].tools.map(({ name, inputSchema }) => [name, inputSchema]));
assert.deepEqual(Object.keys(offered).sort(), ['skillbox_data_analysis', 'skillbox_word_counter']);
assert.equal(offered.skillbox_word_counter.properties.text.type, 'string');

const [analysis, refusal, words] = steps.map(({ content }) => content.find(({ type }) => type.startsWith('tool-') && type !== 'tool-call'));
assert.deepEqual(JSON.parse(analysis.output).files, ['chart.svg']);
assert.match(analysis.output, /27\.5/);
assert.equal(refusal.type, 'tool-error');
assert.match(refusal.error.message, /top/);
assert.equal(JSON.parse(words.output).total_words, 5);
assert.equal(text, 'The mean age is 27.5.');

function calls(toolName, input) {
  const call = { type: 'tool-call', toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) };
  return { content: [call], finishReason: { unified: 'tool-calls', raw: 'tool_calls' } };
}
