// A LangChain agent whose tools are the skills of a box. The model is scripted, so that this runs offline and checks itself;
// put new ChatAnthropic({ model: '…' }) or another chat model in its place and nothing else changes.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from '@skillbox/sdk';
import { buildSkillboxToolkit, SkillboxToolkit } from '@skillbox/sdk/langchain';
import { AIMessage, createAgent, fakeModel, ToolMessage } from 'langchain';

const { SKILLBOX_URL: url = 'http://localhost:8080', SKILLBOX_API_KEY: key = '' } = process.env;
const box = new Client(url, key);
for (const name of ['data-analysis', 'word-counter']) await box.registerSkill(join(import.meta.dirname, '../skills', name));
await box.skills.pushFiles({
  'SKILL.md': '---\nname: house-style\nversion: 1.0.0\ndescription: How we write reports.\nmode: cognitive\n---\nSay the mean first.\n',
});

// Build tools from all registered skills
const tools = await buildSkillboxToolkit(url, key);
const names = tools.map(({ name }) => name);
for (const name of ['skillbox_data_analysis', 'skillbox_word_counter', 'skillbox_house_style']) assert(names.includes(name), `${names}`);

const model = fakeModel()
  .respondWithTools([{ name: 'skillbox_house_style', args: {}, id: 'call-1' }])
  .respondWithTools([{ name: 'skillbox_data_analysis', args: { csv: 'name,age\nAlice,30\nBob,25', title: 'Ages' }, id: 'call-2' }])
  // Not what its schema says: the model is told, and corrects itself.
  .respondWithTools([{ name: 'skillbox_word_counter', args: { text: 7 }, id: 'call-3' }])
  .respondWithTools([{ name: 'skillbox_word_counter', args: { text: 'Alice and Bob and Carol' }, id: 'call-4' }])
  .respond(new AIMessage('The mean age is 27.5.'));

// The agent sees tools like skillbox_data_analysis, reads their descriptions, picks the right one, calls it with structured input,
// gets structured output.
const agent = createAgent({ model, tools });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Analyze this data: name,age\nAlice,30\nBob,25' }] });

const answers = messages.filter((message) => ToolMessage.isInstance(message));
for (const { name, content } of answers) console.log(`${name}: ${String(content).slice(0, 100)}`);
console.log(messages.at(-1)?.content);

const [houseStyle, analysis, refusal, words] = answers;
assert.equal(houseStyle?.content, 'Say the mean first.');
assert.deepEqual(JSON.parse(String(analysis?.content)).files, ['chart.svg']);
assert.match(String(analysis?.content), /27\.5/);
assert.equal(analysis?.artifact.status, 'success', 'the record of the execution comes along');
assert.equal(refusal?.status, 'error');
assert.match(String(refusal?.content), /text/);
assert.equal(JSON.parse(String(words?.content)).total_words, 5);
assert.equal(messages.at(-1)?.content, 'The mean age is 27.5.');

// One tool by itself, and a skill that fails.
const kit = await SkillboxToolkit.load(box, { skills: ['word-counter', 'data-analysis'] });
const counter = kit.getTools().find(({ name }) => name === 'skillbox_word_counter');
assert.equal(JSON.parse(await counter?.invoke({ text: 'one two' })).total_words, 2);
await assert.rejects(async () => counter?.invoke({ text: 'one', top: 0 }), /schema/);
