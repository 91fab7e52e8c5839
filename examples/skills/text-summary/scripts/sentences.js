'use strict';
// Finds sentences. A full stop ends one unless it belongs to an abbreviation, an initial, a number or an address.

/** Never end a sentence: something always follows. */
const titles = new Set(
  'mr mrs ms dr prof st sr jr rev hon gen col capt lt sgt gov sen rep pres fr vs no nos vol fig figs eq sec ch pp p ca cf dept est approx nr bzw ggf usw vgl hr frau'.split(
    ' ',
  ),
);
/** End a sentence only when the next word looks like the start of one. */
const abbreviations = new Set(
  'etc inc ltd co corp bros al ed eds jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave blvd rd u.s u.k u.n e.u a.m p.m ph.d b.sc m.sc'.split(
    ' ',
  ),
);
const neverAfter = new Set('e.g i.e z.b d.h u.a viz'.split(' '));
/** Words that start sentences more often than they follow an abbreviation inside one. */
const starters = new Set(
  'the a an this that these those it he she they we i you in on at for but and however although while when if there as after before his her their our its my no yes what who why how where'.split(
    ' ',
  ),
);

const closing = /["'”’»)\]]/u;
const enders = /[.!?…。！？]/u;

/** [{text, paragraph, first}]: paragraph counts from 0, first marks the first sentence of one. */
function splitSentences(text) {
  const sentences = [];
  let paragraph = 0;
  for (const block of text.replace(/\r\n?/g, '\n').split(/\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,3}[.)])\s)/u)) {
    const plain = block
      .replace(/^\s*(?:#{1,6}|[-*•>]|\d{1,3}[.)])\s+/u, '')
      .replace(/\s+/gu, ' ')
      .trim();
    if (plain === '') continue;
    splitBlock(plain).forEach((sentence, index) => {
      sentences.push({ text: sentence, paragraph, first: index === 0 });
    });
    paragraph += 1;
  }
  return sentences;
}

function splitBlock(text) {
  const found = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (!enders.test(text[at])) continue;
    let end = at + 1;
    while (end < text.length && enders.test(text[end])) end += 1;
    while (end < text.length && closing.test(text[end])) end += 1;
    if (isEnd(text, at, end)) {
      found.push(text.slice(start, end).trim());
      start = end;
    }
    at = end - 1;
  }
  found.push(text.slice(start).trim());
  return found.filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** Is what stands at `at`, with its company up to `end`, the end of a sentence? */
function isEnd(text, at, end) {
  if (end >= text.length) return true;
  if (/[。！？]/u.test(text[at])) return true;
  if (text[end] !== ' ') return false;
  const next = /^ *["'“‘«([]*([^\s]*)/u.exec(text.slice(end, end + 80))?.[1] ?? '';
  const startsLow = /^\p{Ll}/u.test(next);
  if (text[at] !== '.') return !(startsLow && closing.test(text[end - 1]));
  if (startsLow) return false;
  if (end - at > 1 && text.slice(at, end).startsWith('...')) return true;
  const word = (/[\p{L}\p{N}.]+$/u.exec(text.slice(Math.max(0, at - 40), at))?.[0] ?? '').toLowerCase();
  if (titles.has(word)) return word === 'no' || word === 'p' || word === 'ch' ? !/^\d/u.test(next) : false;
  if (neverAfter.has(word)) return false;
  const isStart = starters.has(next.toLowerCase().replace(/[^\p{L}]+$/u, ''));
  if (abbreviations.has(word) || /^(\p{L}\.)+\p{L}$/u.test(word)) return isStart;
  // A single capital is an initial (J. R. R. Tolkien), except as the word I.
  if (/(^|[\s.("“])\p{Lu}$/u.test(text.slice(Math.max(0, at - 2), at))) return isStart || word === 'i';
  return true;
}

module.exports = { splitSentences };
