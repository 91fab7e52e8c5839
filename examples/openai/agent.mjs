// OpenAI's own client with the skills of a box as tools, over the Responses API and over Chat Completions. The model behind it is scripted and local, so that
// this runs offline and checks itself; without baseURL it is OpenAI's.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from '@skillbox/sdk';
import { callTool, openaiChatTools, openaiTools, skillTools } from '@skillbox/sdk/tools';
import OpenAI from 'openai';
import { startModel } from './scripted-model.mjs';

const { SKILLBOX_URL: url = 'http://localhost:8080', SKILLBOX_API_KEY: key = '' } = process.env;
const box = new Client(url, key);
for (const name of ['data-analysis', 'word-counter']) await box.registerSkill(join(import.meta.dirname, '../skills', name));
const tools = await skillTools(box, { skills: ['data-analysis', 'word-counter'] });

const model = await startModel([
  { name: 'skillbox_data_analysis', args: '{"csv": "name,age\\nAlice,30\\nBob,25"}' },
  // Not JSON, then not what the schema says: the model is told, and corrects itself.
  { name: 'skillbox_word_counter', args: '{"text": ' },
  { name: 'skillbox_word_counter', args: '{"text": 7}' },
  { name: 'skillbox_word_counter', args: '{"text": "Alice and Bob and Carol"}' },
  'The mean age is 27.5.',
]);
const openai = new OpenAI({ apiKey: 'none', baseURL: model.url });
const question = 'Analyze this data: name,age\nAlice,30\nBob,25';

check(await respond());
check(await complete());
assert.deepEqual(
  model.requests.responses[0].tools.map(({ name, parameters }) => [name, parameters.type]),
  [
    ['skillbox_data_analysis', 'object'],
    ['skillbox_word_counter', 'object'],
  ],
);
assert.equal(model.requests.chat[0].tools[1].function.parameters.properties.text.type, 'string');
model.close();

/** The Responses API. */
async function respond() {
  const input = [{ role: 'user', content: question }];
  const answers = [];
  for (;;) {
    const response = await openai.responses.create({ model: 'scripted', tools: openaiTools(tools), input });
    const calls = response.output.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) return { answers, text: response.output_text };
    input.push(...response.output);
    for (const { name, arguments: args, call_id } of calls) {
      const answer = await callTool(tools, name, args);
      answers.push(answer);
      input.push({ type: 'function_call_output', call_id, output: answer.content });
    }
  }
}

/** Chat Completions. */
async function complete() {
  const messages = [{ role: 'user', content: question }];
  const answers = [];
  for (;;) {
    const { choices } = await openai.chat.completions.create({ model: 'scripted', tools: openaiChatTools(tools), messages });
    const [{ message }] = choices;
    if (!message.tool_calls?.length) return { answers, text: message.content };
    messages.push(message);
    for (const call of message.tool_calls) {
      const answer = await callTool(tools, call.function.name, call.function.arguments);
      answers.push(answer);
      messages.push({ role: 'tool', tool_call_id: call.id, content: answer.content });
    }
  }
}

function check({ answers, text }) {
  for (const { content } of answers) console.log(content.slice(0, 100));
  console.log(text);
  const [analysis, notJson, refusal, words] = answers;
  assert.deepEqual(JSON.parse(analysis.content).files, ['chart.svg']);
  assert.equal(analysis.execution.status, 'success');
  assert.match(notJson.content, /not JSON/);
  assert(refusal.failed && refusal.content.includes('/text'), refusal.content);
  assert.equal(JSON.parse(words.content).total_words, 5);
  assert.equal(text, 'The mean age is 27.5.');
}
