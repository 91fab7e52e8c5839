/** The screen of a terminal: xterm, in the colours of the dashboard, as large as its place. */

import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { withStrictStyles } from './strict-styles.ts';

export interface Screen {
  readonly cols: number;
  readonly rows: number;
  write(bytes: Uint8Array): void;
  /** A line of the dashboard's own. */
  note(text: string): void;
  /** As it was at the start. */
  reset(): void;
  focus(): void;
  fit(): void;
  paint(): void;
  dispose(): void;
}

interface Heard {
  onInput(data: string | Uint8Array): void;
  onSize(cols: number, rows: number): void;
}

/** What has come and is not drawn yet; a program that floods is not waited for, and what is too much is left out. */
const mostWaiting = 4 * 1024 * 1024;

export function openScreen(place: HTMLElement, { onInput, onSize }: Heard): Screen {
  const fitting = new FitAddon();
  const terminal = withStrictStyles(() => {
    const made = new Terminal({
      ...{ cursorBlink: true, scrollback: 5000, screenReaderMode: true },
      ...{ fontSize: 13, fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace' },
      theme: themeOf(place),
      // Links are what a program says they are: asked first, and what opens knows nothing of this page.
      linkHandler: { activate: (_event, uri) => visit(uri) },
    });
    made.loadAddon(fitting);
    made.open(place);
    return made;
  });
  let waiting = 0;
  let leftOut = 0;
  const encoder = new TextEncoder();
  terminal.onData(onInput);
  terminal.onBinary((text) => onInput(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => onSize(cols, rows));
  const fit = (): void => {
    if (place.clientWidth > 0 && place.clientHeight > 0) fitting.fit();
  };
  fit();

  const put = (bytes: Uint8Array): void => {
    waiting += bytes.length;
    terminal.write(bytes, () => {
      waiting -= bytes.length;
      if (leftOut === 0 || waiting > mostWaiting / 2) return;
      const note = encoder.encode(`\x1b[0m\r\n[${leftOut} bytes came faster than they could be shown]\r\n`);
      leftOut = 0;
      put(note);
    });
  };
  return {
    get cols() {
      return terminal.cols;
    },
    get rows() {
      return terminal.rows;
    },
    write(bytes) {
      if (waiting > mostWaiting) leftOut += bytes.length;
      else put(bytes);
    },
    note: (text) => put(encoder.encode(`\x1b[0m\r\n\x1b[2m[${text}]\x1b[0m\r\n`)),
    reset: () => terminal.reset(),
    focus: () => terminal.focus(),
    fit,
    paint: () => {
      terminal.options.theme = themeOf(place);
    },
    dispose: () => terminal.dispose(),
  };
}

function visit(uri: string): void {
  if (!/^https?:\/\//i.test(uri)) return;
  if (confirm(`A program in the sandbox made this link. Open it?\n\n${uri}`)) window.open(uri, '_blank', 'noopener,noreferrer');
}

const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

function themeOf(place: HTMLElement): Record<string, string> {
  const style = getComputedStyle(place);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const own = colours.flatMap((name) => [
    [name, read(`--term-${name}`)],
    [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, read(`--term-bright-${name}`)],
  ]);
  return {
    ...{ background: read('--sunken'), foreground: read('--text'), cursor: read('--accent'), cursorAccent: read('--sunken') },
    selectionBackground: read('--term-selection'),
    ...Object.fromEntries(own.filter(([, value]) => value !== '')),
  };
}
