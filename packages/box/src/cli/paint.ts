/** Colours, as functions that leave text alone where there are none. */

export type Tone = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (tone: Tone, text: string) => string;

const codes: Record<Tone, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

export function createPaint(enabled: boolean): Paint {
  if (!enabled) return (_tone, text) => text;
  return (tone, text) => `\x1b[${codes[tone][0]}m${text}\x1b[${codes[tone][1]}m`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const sequences = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** What came from a box or a skill must not move the cursor or rename the window; line breaks and tabs stay. */
export const printable = (text: string): string => text.replace(sequences, '').replace(controls, '');

/** The same, on one line. */
export const oneLine = (text: string): string => (words.test(text) ? text : printable(text).replace(/\s+/g, ' ').trim());
/** Nothing to be done: nearly all texts of a long table. */
const words = /^[!-~]+(?: [!-~]+)*$/;
