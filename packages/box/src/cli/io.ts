/** Where a command writes: results to stdout, everything else to stderr, so that a pipe gets results only. */

import { createPaint, type Paint } from './paint.ts';

export interface Io {
  /** Results are JSON; nothing else may reach stdout. */
  readonly json: boolean;
  /** Colours of stdout, if it has any. */
  readonly paint: Paint;
  /** Columns of the terminal; undefined when a file or pipe takes the output. */
  readonly width: number | undefined;
  print(text: string): void;
  /** A remark for people, on stderr. */
  note(text: string): void;
  /** One line that replaces itself while work goes on; shown only on a terminal. */
  readonly progress: Progress;
}

export interface Progress {
  show(text: string): void;
  clear(): void;
}

export interface IoOptions {
  readonly json: boolean;
  readonly colour: boolean;
}

export function createIo({ json, colour }: IoOptions): Io {
  const { stdout, stderr } = process;
  const progress = createProgress(stderr.isTTY === true && !json);
  return {
    json,
    paint: createPaint(colour && stdout.isTTY === true && !json),
    width: stdout.isTTY ? stdout.columns : undefined,
    progress,
    print(text) {
      progress.clear();
      stdout.write(text.endsWith('\n') ? text : `${text}\n`);
    },
    note(text) {
      progress.clear();
      stderr.write(text.endsWith('\n') ? text : `${text}\n`);
    },
  };
}

function createProgress(shown: boolean): Progress {
  let visible = false;
  const clear = (): void => {
    if (visible) process.stderr.write('\r\x1b[K');
    visible = false;
  };
  return {
    clear,
    show(text) {
      if (!shown) return;
      process.stderr.write(`\r\x1b[K${text}`);
      visible = true;
    },
  };
}
