/** A log as people read it: coloured, numbered, searched; it follows what comes until the reader scrolls away. */

import { type KeyboardEvent, useCallback, useDeferredValue, useMemo, useRef, useState } from 'react';
import { type Look, parseAnsi, stripAnsi } from './ansi.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { formatCount } from './format.ts';
import { isTrouble, type LogLines } from './log-lines.ts';
import { Virtual, type VirtualHandle } from './virtual.tsx';
import './log-view.css';

const rowHeight = 18;
const longest = 4000;

interface Props {
  readonly log: LogLines;
  /** Changes with the log. */
  readonly version: number;
  readonly live: boolean;
  readonly label: string;
}

export function LogView({ log, version, live, label }: Props) {
  const list = useRef<VirtualHandle>(null);
  const [following, setFollowing] = useState(true);
  const [words, setWords] = useState('');
  const [marked, setMarked] = useState<number>();
  const sought = useDeferredValue(words.toLowerCase());

  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what is in the log.
  const found = useMemo(() => (sought === '' ? 0 : countOf(log, sought)), [log, version, sought]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const hasTrouble = useMemo(() => log.find(isTrouble, -1) !== undefined, [log, version]);

  const go = useCallback((to: number | undefined) => {
    if (to === undefined) return;
    setFollowing(false);
    setMarked(to);
    list.current?.scrollToRow(to);
  }, []);
  const seek = (step: 1 | -1): void => {
    const wanted = words.toLowerCase();
    if (wanted === '') return;
    go(log.find((line) => stripAnsi(line).toLowerCase().includes(wanted), marked ?? (step === 1 ? -1 : 0), step));
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    seek(event.shiftKey ? -1 : 1);
  };

  return (
    <div className="log">
      <div className="log-bar">
        <input
          className="input"
          type="search"
          placeholder="Search the log"
          aria-label="Search the log"
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
            setMarked(undefined);
          }}
          onKeyDown={keys}
        />
        {words !== '' && (
          <span className="found" role="status">
            {formatCount(found)} {found === 1 ? 'line' : 'lines'}
          </span>
        )}
        <Button kind="quiet" icon="up" label="The one before" disabled={words === ''} onClick={() => seek(-1)} />
        <Button kind="quiet" icon="chevron" label="The next one" disabled={words === ''} onClick={() => seek(1)} />
        <span className="rest" />
        {hasTrouble && (
          <Button kind="quiet" icon="warning" onClick={() => go(log.find(isTrouble, marked ?? -1))}>
            Next error
          </Button>
        )}
        {live && (
          <Button kind="quiet" aria-pressed={following} onClick={() => setFollowing(!following)}>
            {following ? 'Following' : 'Follow'}
          </Button>
        )}
        <span className="found">{formatCount(log.count)} lines</span>
        <CopyButton text={() => log.text()} label="Copy the log" />
      </div>
      <Virtual
        handle={list}
        className="log-lines"
        label={label}
        count={log.count}
        rowHeight={rowHeight}
        follow={live && following}
        onScrolled={(atEnd) => setFollowing(atEnd)}
        row={(index) => <Line log={log} index={index} sought={sought} marked={index === marked} />}
      />
    </div>
  );
}

function Line({
  log,
  index,
  sought,
  marked,
}: {
  readonly log: LogLines;
  readonly index: number;
  readonly sought: string;
  readonly marked: boolean;
}) {
  const text = log.line(index);
  const cut = text.length > longest;
  const { pieces } = parseAnsi(cut ? text.slice(0, longest) : text, log.look(index));
  const hit = sought !== '' && stripAnsi(text).toLowerCase().includes(sought);
  return (
    <div className={`log-line ${log.source(index)}${marked ? ' marked' : hit ? ' hit' : ''}`}>
      <span className="number" aria-hidden="true">
        {index + 1}
      </span>
      <span className="text">
        {pieces.map((piece, at) => (
          <span key={at} className={classOf(piece.look)} style={styleOf(piece.look)}>
            {piece.text}
          </span>
        ))}
        {cut && <em> … {formatCount(text.length - longest)} more characters</em>}
      </span>
    </div>
  );
}

function classOf({ colour, ground, bold, dim, italic, underline }: Look): string | undefined {
  const classes = [
    colour?.startsWith('ansi-') && colour,
    ground?.startsWith('ansi-') && `on-${ground}`,
    bold && 'bold',
    dim && 'dim',
    italic && 'italic',
    underline && 'underline',
  ].filter(Boolean);
  return classes.length > 0 ? classes.join(' ') : undefined;
}

function styleOf({ colour, ground }: Look): { color?: string; background?: string } | undefined {
  const own = (value: string | undefined): value is string => value?.startsWith('rgb') === true;
  if (!own(colour) && !own(ground)) return undefined;
  return { ...(own(colour) && { color: colour }), ...(own(ground) && { background: ground }) };
}

function countOf(log: LogLines, sought: string): number {
  let count = 0;
  for (let at = 0; at < log.count; at += 1) if (stripAnsi(log.line(at)).toLowerCase().includes(sought)) count += 1;
  return count;
}
