'use strict';
// Which sentences carry the text: TextRank over TF-IDF, with a word for position and length, and a penalty for saying it twice.

const stopWords = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by can could did do does doing down during each even ' +
    'few for from further had has have having he her here hers herself him himself his how however i if in into is it its itself just let like made make many may me might more ' +
    'most much must my myself no nor not now of off on once one only or other our ours ourselves out over own per said same say says she should since so some still such than ' +
    'that the their theirs them themselves then there these they this those though through to too two under until up upon us very was we were what when where which while who ' +
    'whom whose why will with within without would yet you your yours yourself'
  ).split(' '),
);
/** Beyond this a full comparison of all sentences takes too long; the distance to the centre does nearly as well. */
const maxGraph = 600;
const damping = 0.85;
const leaning = /^["'“‘(]*(?:it|its|this|that|these|those|he|she|they|his|her|their|such|but|and|so|or|however|also|to do so)\b/iu;

/** Indexes of the sentences to keep, in the order of the text. */
function rankSentences(sentences, wanted) {
  if (sentences.length <= wanted) return sentences.map((_, index) => index);
  const vectors = vectorsOf(sentences);
  const central = share(sentences.length <= maxGraph ? textRank(vectors) : centrality(vectors));
  const topical = share(topicality(vectors));
  const scores = sentences.map((sentence, index) => {
    const weight = positionWeight(sentence, index, sentences.length) * lengthWeight(vectors[index]);
    return ((central[index] + topical[index]) / 2) * weight;
  });
  return choose(scores, vectors, wanted).sort((a, b) => a - b);
}

/** The words that mark this text out, for a reader who wants to know what it is about. */
function keyTerms(sentences, most) {
  const counts = new Map();
  const spellings = new Map();
  for (const { text } of sentences) {
    for (const raw of text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []) {
      const term = stem(raw);
      if (!isTelling(raw)) continue;
      counts.set(term, (counts.get(term) ?? 0) + 1);
      if (!spellings.has(term)) spellings.set(term, raw.toLowerCase());
    }
  }
  const ordered = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return ordered.slice(0, most).map(([term]) => spellings.get(term));
}

/** One unit vector of TF-IDF weights for each sentence. */
function vectorsOf(sentences) {
  const bags = sentences.map(({ text }) => {
    const bag = new Map();
    for (const raw of text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? []) {
      if (isTelling(raw)) bag.set(stem(raw), (bag.get(stem(raw)) ?? 0) + 1);
    }
    return bag;
  });
  const appearances = new Map();
  for (const bag of bags) for (const term of bag.keys()) appearances.set(term, (appearances.get(term) ?? 0) + 1);
  return bags.map((bag) => {
    const vector = new Map();
    for (const [term, count] of bag) vector.set(term, (1 + Math.log(count)) * Math.log(1 + sentences.length / appearances.get(term)));
    let squares = 0;
    for (const weight of vector.values()) squares += weight * weight;
    const length = Math.sqrt(squares) || 1;
    for (const [term, weight] of vector) vector.set(term, weight / length);
    return vector;
  });
}

function textRank(vectors) {
  const count = vectors.length;
  const links = vectors.map(() => new Float64Array(count));
  const sums = new Float64Array(count);
  for (let a = 0; a < count; a += 1) {
    for (let b = a + 1; b < count; b += 1) {
      const weight = similarity(vectors[a], vectors[b]);
      links[a][b] = weight;
      links[b][a] = weight;
      sums[a] += weight;
      sums[b] += weight;
    }
  }
  let ranks = new Float64Array(count).fill(1 / count);
  for (let round = 0; round < 50; round += 1) {
    const next = new Float64Array(count).fill((1 - damping) / count);
    let change = 0;
    for (let a = 0; a < count; a += 1) {
      for (let b = 0; b < count; b += 1) if (sums[b] > 0) next[a] += (damping * ranks[b] * links[b][a]) / sums[b];
      change += Math.abs(next[a] - ranks[a]);
    }
    ranks = next;
    if (change < 1e-6) break;
  }
  return [...ranks];
}

function centrality(vectors) {
  const centre = new Map();
  for (const vector of vectors) for (const [term, weight] of vector) centre.set(term, (centre.get(term) ?? 0) + weight);
  return vectors.map((vector) => similarity(vector, centre));
}

/** How much a sentence speaks of what the others speak of. Two stray sentences that share one rare word lift each other in TextRank, not here. */
function topicality(vectors) {
  const appearances = new Map();
  for (const vector of vectors) for (const term of vector.keys()) appearances.set(term, (appearances.get(term) ?? 0) + 1);
  return vectors.map((vector) => {
    let sum = 0;
    for (const term of vector.keys()) sum += appearances.get(term) - 1;
    return sum / Math.sqrt(vector.size || 1);
  });
}

/** The same numbers with the largest as 1. */
function share(numbers) {
  const most = numbers.reduce((a, b) => Math.max(a, b), 0) || 1;
  return numbers.map((number) => number / most);
}

/** Writers put what matters first, in the text and in its paragraphs; the end often draws the conclusion. */
function positionWeight({ text, first }, index, count) {
  if (index === 0) return 1.35;
  // "That makes it faster": without the sentence before, nobody knows what does.
  if (leaning.test(text)) return 0.85;
  const early = 1 + 0.2 * (1 - index / count);
  const last = index === count - 1 ? 1.1 : 1;
  return early * last * (first ? 1.1 : 1);
}

/** A sentence of a few words rarely stands alone; one of sixty says too much at once. */
function lengthWeight(vector) {
  if (vector.size === 0) return 0.01;
  if (vector.size < 4) return 0.6;
  return vector.size > 30 ? 0.8 : 1;
}

/** The best one, then again and again the best that is least like those already taken. */
function choose(scores, vectors, wanted) {
  const chosen = [];
  const nearest = new Float64Array(scores.length);
  while (chosen.length < Math.min(wanted, scores.length)) {
    let best = -1;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < scores.length; index += 1) {
      const score = scores[index] * (1 - nearest[index]);
      if (chosen.includes(index) || score <= bestScore) continue;
      best = index;
      bestScore = score;
    }
    chosen.push(best);
    for (let index = 0; index < scores.length; index += 1)
      nearest[index] = Math.max(nearest[index], similarity(vectors[index], vectors[best]));
  }
  return chosen;
}

function similarity(a, b) {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  let sum = 0;
  for (const [term, weight] of small) sum += weight * (large.get(term) ?? 0);
  return sum;
}

const isTelling = (word) => word.length > 2 && !stopWords.has(word.toLowerCase().replace(/['’].*$/u, ''));

/** Enough to see that "systems" and "system" are one. */
function stem(word) {
  const low = word.toLowerCase().replace(/['’]s?$/u, '');
  if (low.length < 5) return low;
  return low
    .replace(/ies$/u, 'y')
    .replace(/(?<=[^aeious])es$/u, 'e')
    .replace(/(?<=[^s])s$/u, '')
    .replace(/(?:ing|ed|ly)$/u, '');
}

module.exports = { rankSentences, keyTerms };
