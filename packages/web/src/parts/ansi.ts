/** Colours of terminals in a log. Everything else that a terminal would obey is left out: a log is text, and stays text. */

export interface Look {
  readonly colour?: string;
  readonly ground?: string;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
}

export interface Piece {
  readonly text: string;
  readonly look: Look;
}

export const plain: Look = {};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const sequence = /\x1b(?:\[([0-9;:?<=>]*)([A-Za-z])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const invisible = /[\x00-\x08\x0b-\x1f\x7f]/g;

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** A line in pieces of one look each, and the look with which the next line begins. */
export function parseAnsi(line: string, start: Look = plain): { readonly pieces: Piece[]; readonly end: Look } {
  // A bar that draws over itself shows its last state.
  const from = line.lastIndexOf('\r', line.length - 2);
  const text = from >= 0 ? line.slice(from + 1) : line;
  const pieces: Piece[] = [];
  let look = start;
  let at = 0;
  const add = (part: string): void => {
    const shown = part.replace(invisible, '');
    if (shown !== '') pieces.push({ text: shown, look });
  };
  if (!text.includes('\x1b')) {
    add(text);
    return { pieces, end: look };
  }
  for (const match of text.matchAll(sequence)) {
    add(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') look = changed(look, match[1] ?? '');
  }
  add(text.slice(at));
  return { pieces, end: look };
}

function changed(look: Look, codes: string): Look {
  const numbers = codes.split(/[;:]/).map(Number);
  let next = look;
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(numbers.slice(at + 1));
      if (colour !== undefined) next = { ...next, [code === 38 ? 'colour' : 'ground']: colour };
      at += used;
    } else next = simple(next, code);
  }
  return next;
}

function simple(look: Look, code: number): Look {
  if (code === 0) return plain;
  if (code === 1) return { ...look, bold: true };
  if (code === 2) return { ...look, dim: true };
  if (code === 3) return { ...look, italic: true };
  if (code === 4) return { ...look, underline: true };
  if (code === 22) return without(look, 'bold', 'dim');
  if (code === 23) return without(look, 'italic');
  if (code === 24) return without(look, 'underline');
  if (code === 39) return without(look, 'colour');
  if (code === 49) return without(look, 'ground');
  if (code >= 30 && code <= 37) return { ...look, colour: `ansi-${names[code - 30]}` };
  if (code >= 90 && code <= 97) return { ...look, colour: `ansi-bright-${names[code - 90]}` };
  if (code >= 40 && code <= 47) return { ...look, ground: `ansi-${names[code - 40]}` };
  if (code >= 100 && code <= 107) return { ...look, ground: `ansi-bright-${names[code - 100]}` };
  return look;
}

/** 5;n of a palette, or 2;r;g;b. */
function extended([kind, ...rest]: number[]): [string | undefined, number] {
  if (kind === 5) return [paletteColour(rest[0] ?? 0), 2];
  if (kind !== 2) return [undefined, 0];
  const [r = 0, g = 0, b = 0] = rest.map((value) => Math.min(255, Math.max(0, value || 0)));
  return [`rgb(${r} ${g} ${b})`, 4];
}

function paletteColour(number: number): string | undefined {
  if (number < 8) return `ansi-${names[number]}`;
  if (number < 16) return `ansi-bright-${names[number - 8]}`;
  if (number < 232) {
    const level = (at: number): number => [0, 95, 135, 175, 215, 255][Math.floor((number - 16) / at) % 6] ?? 0;
    return `rgb(${level(36)} ${level(6)} ${level(1)})`;
  }
  if (number > 255) return undefined;
  const grey = 8 + (number - 232) * 10;
  return `rgb(${grey} ${grey} ${grey})`;
}

function without(look: Look, ...keys: (keyof Look)[]): Look {
  return Object.fromEntries(Object.entries(look).filter(([key]) => !keys.includes(key as keyof Look)));
}

/** As a search sees it. */
export const stripAnsi = (text: string): string => (text.includes('\x1b') ? text.replace(sequence, '') : text);
