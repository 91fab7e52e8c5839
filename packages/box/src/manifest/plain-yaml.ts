/**
 * The plain part of YAML, fast: thousands of items would take the whole parser a second. It reads block mappings and lists, flow
 * collections and scalars on one line, and literal blocks. At the first thing beyond that, or in doubt, or at an error, it gives up,
 * and the whole parser decides: a test compares the two on whatever text both take.
 */

export interface PlainNode {
  /** Of its first character. */
  readonly offset: number;
  readonly value: unknown;
  /** Of a mapping: where its keys stand, in their order. A thousand items have many keys: lists of numbers take least. */
  readonly keys?: readonly number[];
  /** Of a mapping, in the order of its keys, or of a list. */
  readonly items?: readonly PlainNode[];
}

/** undefined: ask the whole parser. */
export function readPlainYaml(text: string, maxDepth: number): PlainNode | undefined {
  if (unusualCharacter.test(text)) return undefined;
  try {
    return new Reader(text, maxDepth).document();
  } catch (error) {
    // The one thing it throws itself.
    if (error === beyond) return undefined;
    throw error;
  }
}

const beyond = new Error('beyond plain YAML');

/** Tabs, other controls, line separators, byte order marks, and pairs of surrogates. */
const unusualCharacter = /[^\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;

interface Line {
  indent: number;
  /** Of its first character that is no space. */
  offset: number;
  /** From there on. */
  text: string;
  /** Among all lines, blank ones and comments too. */
  readonly index: number;
}

const keyPattern = /^([A-Za-z_][\w.-]*):(?: +|$)/;
const itemPattern = /^-(?: +|$)/;
const wordValues = new Map<string, unknown>([
  ...['null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);

class Reader {
  readonly #raw: readonly string[];
  readonly #starts: number[] = [];
  readonly #lines: Line[] = [];
  readonly #maxDepth: number;
  #at = 0;
  #depth = 0;

  constructor(text: string, maxDepth: number) {
    this.#raw = text.split('\n');
    this.#maxDepth = maxDepth;
    let start = 0;
    for (const [index, line] of this.#raw.entries()) {
      this.#starts.push(start);
      const content = line.trimStart();
      const indent = line.length - content.length;
      if (content !== '' && !content.startsWith('#')) this.#lines.push({ indent, offset: start + indent, text: content, index });
      start += line.length + 1;
    }
  }

  document(): PlainNode {
    const first = this.#lines[0];
    if (first?.indent !== 0 || /^(---|\.\.\.|%)/.test(first.text)) throw beyond;
    const node = this.#block(0);
    if (this.#at < this.#lines.length) throw beyond;
    return node;
  }

  #block(indent: number): PlainNode {
    if (++this.#depth > this.#maxDepth) throw beyond;
    const line = this.#lines[this.#at] as Line;
    const node = itemPattern.test(line.text) ? this.#list(indent) : this.#mapping(indent);
    this.#depth--;
    return node;
  }

  #mapping(indent: number): PlainNode {
    const { offset } = this.#lines[this.#at] as Line;
    const keys: number[] = [];
    const items: PlainNode[] = [];
    const value: Record<string, unknown> = {};
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      const match = keyPattern.exec(line.text);
      const key = match?.[1];
      if (!match || key === undefined || wordValues.has(key) || key === '__proto__' || Object.hasOwn(value, key)) throw beyond;
      const node = this.#valueAfter(line, match[0].length, indent, indent);
      keys.push(line.offset);
      items.push(node);
      value[key] = node.value;
    }
    return { offset, value, keys, items };
  }

  #list(indent: number): PlainNode {
    const { offset } = this.#lines[this.#at] as Line;
    const items: PlainNode[] = [];
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      const width = itemPattern.exec(line.text)?.[0].length;
      // At the indentation of its key a list ends where the next key stands.
      if (width === undefined) break;
      const rest = line.text.slice(width);
      if (itemPattern.test(rest)) throw beyond;
      if (keyPattern.test(rest)) {
        this.#lines[this.#at] = { ...line, indent: indent + width, offset: line.offset + width, text: rest };
        items.push(this.#block(indent + width));
      } else items.push(this.#valueAfter(line, width, indent, indent + 1));
    }
    return { offset, value: items.map((item) => item.value), items };
  }

  /** What stands behind `key:` or `-`: on the same line, or as a block of at least that indentation below. */
  #valueAfter(line: Line, width: number, indent: number, leastListIndent: number): PlainNode {
    this.#at++;
    const rest = line.text.slice(width);
    const next = this.#lines[this.#at];
    if (rest === '' || rest.startsWith('#')) {
      if (next && next.indent > indent) return this.#block(next.indent);
      if (next && next.indent === indent && leastListIndent === indent && itemPattern.test(next.text)) return this.#block(indent);
      throw beyond;
    }
    if (rest.startsWith('|')) return this.#literal(line, rest, line.offset + width, indent);
    // It would go on in the next line.
    if (next && next.indent > indent) throw beyond;
    return inline(rest, line.offset + width, this.#maxDepth - this.#depth);
  }

  #literal(line: Line, header: string, offset: number, indent: number): PlainNode {
    const keep = /^\|(-?) *$/.exec(header);
    const first = this.#raw[line.index + 1];
    if (!keep || first === undefined || first.trim() === '') throw beyond;
    const own = first.length - first.trimStart().length;
    if (own <= indent) throw beyond;
    const lines: string[] = [];
    let at = line.index + 1;
    for (let text = this.#raw[at]; text !== undefined; text = this.#raw[++at]) {
      const blank = text.trim() === '';
      const depth = text.length - text.trimStart().length;
      if (!blank && depth <= indent) break;
      if (blank ? text !== '' : depth < own) throw beyond;
      lines.push(text.slice(own));
    }
    while (lines.at(-1) === '') lines.pop();
    while ((this.#lines[this.#at]?.index ?? Number.POSITIVE_INFINITY) < at) this.#at++;
    return { offset, value: `${lines.join('\n')}${keep[1] === '-' ? '' : '\n'}` };
  }
}

const quoted = /"([^"\\]*)"|'([^']*)'(?!')/y;

/** A value that ends with its line, a comment aside. */
function inline(text: string, offset: number, depth: number): PlainNode {
  if (text.startsWith('[') || text.startsWith('{')) {
    const flow = new Flow(text, offset, depth);
    const node = flow.collection();
    if (!isEnd(text.slice(flow.at))) throw beyond;
    return node;
  }
  const string = quotedAt(text, 0);
  if (string) {
    if (!isEnd(text.slice(string.end))) throw beyond;
    return { offset, value: string.value };
  }
  const comment = text.indexOf(' #');
  return { offset, value: plain((comment === -1 ? text : text.slice(0, comment)).trimEnd()) };
}

const isEnd = (rest: string): boolean => rest.trim() === '' || /^ +#/.test(rest);

function quotedAt(text: string, at: number): { value: string; end: number } | undefined {
  if (text[at] !== '"' && text[at] !== "'") return undefined;
  quoted.lastIndex = at;
  const match = quoted.exec(text);
  if (!match) throw beyond;
  return { value: match[1] ?? match[2] ?? '', end: quoted.lastIndex };
}

const numeric = /^\d+(\.\d*)?([eE][-+]?\d+)?$|^0[xo]/;

/** Of the core schema; what could be read otherwise is left alone. */
function plain(text: string): unknown {
  if (text === '' || text.includes(': ') || text.endsWith(':') || text.includes(' #')) throw beyond;
  if (wordValues.has(text)) return wordValues.get(text);
  if (/^[\p{L}_/$]/u.test(text) || /^\.{1,2}\//.test(text)) return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (/^\d[\w/.-]*$/.test(text) && !numeric.test(text)) return text;
  throw beyond;
}

/** Flow collections within one line. */
class Flow {
  readonly #text: string;
  readonly #offset: number;
  #depth: number;
  at = 0;

  constructor(text: string, offset: number, depth: number) {
    this.#text = text;
    this.#offset = offset;
    this.#depth = depth;
  }

  collection(): PlainNode {
    if (--this.#depth < 0) throw beyond;
    const node = this.#text[this.at] === '[' ? this.#list() : this.#mapping();
    this.#depth++;
    return node;
  }

  #list(): PlainNode {
    const offset = this.#offset + this.at++;
    const items: PlainNode[] = [];
    while (!this.#ends(']', items.length)) items.push(this.#value());
    return { offset, value: items.map((item) => item.value), items };
  }

  #mapping(): PlainNode {
    const offset = this.#offset + this.at++;
    const keys: number[] = [];
    const items: PlainNode[] = [];
    const value: Record<string, unknown> = {};
    while (!this.#ends('}', keys.length)) {
      flowKey.lastIndex = this.at;
      const match = flowKey.exec(this.#text);
      const key = match?.[1];
      if (!match || key === undefined || wordValues.has(key) || key === '__proto__' || Object.hasOwn(value, key)) throw beyond;
      keys.push(this.#offset + this.at);
      this.at = flowKey.lastIndex;
      const node = this.#value();
      items.push(node);
      value[key] = node.value;
    }
    return { offset, value, keys, items };
  }

  /** Past the bracket or the comma, with whatever room there is. */
  #ends(bracket: string, count: number): boolean {
    this.#skip();
    if (this.#text[this.at] === bracket) {
      this.at++;
      return true;
    }
    if (count === 0) return false;
    if (this.#text[this.at] !== ',') throw beyond;
    this.at++;
    this.#skip();
    if (this.#text[this.at] === bracket) throw beyond;
    return false;
  }

  #value(): PlainNode {
    const first = this.#text[this.at];
    if (first === '[' || first === '{') return this.collection();
    const offset = this.#offset + this.at;
    const string = quotedAt(this.#text, this.at);
    if (string) {
      this.at = string.end;
      return { offset, value: string.value };
    }
    flowPlain.lastIndex = this.at;
    const text = flowPlain.exec(this.#text)?.[0].trimEnd() ?? '';
    this.at = flowPlain.lastIndex;
    return { offset, value: plain(text) };
  }

  #skip(): void {
    while (this.#text[this.at] === ' ') this.at++;
  }
}

const flowKey = /([A-Za-z_][\w.-]*): +/y;
const flowPlain = /[^,[\]{}"']*/y;
