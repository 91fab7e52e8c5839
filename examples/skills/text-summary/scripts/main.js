'use strict';
// Shortens a text to its most telling sentences, in their own words and order. Nothing but Node itself.

const fs = require('node:fs');
const { splitSentences } = require('./sentences.js');
const { rankSentences, keyTerms } = require('./rank.js');

const maxCharacters = 2_000_000;

function main() {
  const { text, max_sentences: wanted = 3 } = readInput();
  if (typeof text !== 'string') fail('text must be a string: {"text": "…", "max_sentences": 3}');
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > 200) fail('max_sentences must be a whole number from 1 to 200');
  if (text.length > maxCharacters) fail(`text has ${text.length} characters; at most ${maxCharacters} are summarised`);

  const sentences = splitSentences(text);
  const chosen = rankSentences(sentences, wanted);
  const summary = chosen.map((index) => sentences[index].text).join(' ');
  const output = {
    summary,
    sentence_count: chosen.length,
    source_sentence_count: sentences.length,
    key_terms: keyTerms(sentences, 8),
    // How much of the text is left, as a share of its characters.
    ratio: text.length === 0 ? 0 : Math.round((summary.length / text.length) * 1000) / 1000,
  };
  fs.writeFileSync(process.env.SANDBOX_OUTPUT ?? 'out/output.json', JSON.stringify(output));
  console.log(`Kept ${chosen.length} of ${sentences.length} sentences.`);
}

function readInput() {
  const raw = process.env.SANDBOX_INPUT ?? fs.readFileSync('input.json', 'utf8');
  let input;
  try {
    input = JSON.parse(raw);
  } catch (error) {
    fail(`the input is not JSON: ${error.message}`);
  }
  return typeof input === 'string' ? { text: input } : (input ?? {});
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}

main();
