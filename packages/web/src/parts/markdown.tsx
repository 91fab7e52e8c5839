/**
 * Instructions of skills, as they are meant to look. Made of elements, never of HTML: what is written as a tag is shown as text, and a
 * link goes to the web or nowhere.
 */

import type { ReactNode } from 'react';

export function Markdown({ text }: { readonly text: string }) {
  return <div className="prose">{blocks(text.replaceAll('\r\n', '\n').split('\n'))}</div>;
}

function blocks(lines: readonly string[]): ReactNode[] {
  const made: ReactNode[] = [];
  let at = 0;
  const take = (test: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && test(lines[at] ?? '')) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const key = made.length;
    const fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (line.trim() === '') at += 1;
    else if (fence) {
      at += 1;
      const code = take((each) => !each.trim().startsWith(fence));
      at += 1;
      made.push(
        <pre key={key} tabIndex={0}>
          <code>{code.join('\n')}</code>
        </pre>,
      );
    } else if (heading) {
      at += 1;
      // The page has the first heading: those of a text begin below it.
      const Level = `h${Math.min(6, (heading[1]?.length ?? 1) + 1)}` as 'h2';
      made.push(<Level key={key}>{inline(heading[2] ?? '')}</Level>);
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      at += 1;
      made.push(<hr key={key} />);
    } else if (/^\s*>/.test(line)) {
      const quoted = take((each) => /^\s*>/.test(each)).map((each) => each.replace(/^\s*> ?/, ''));
      made.push(<blockquote key={key}>{blocks(quoted)}</blockquote>);
    } else if (isItem(line))
      made.push(
        list(
          take((each) => isItem(each) || /^\s{2,}\S/.test(each)),
          key,
        ),
      );
    else if (line.includes('|') && /^[\s|:-]+$/.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')) {
      made.push(
        table(
          take((each) => each.includes('|')),
          key,
        ),
      );
    } else {
      const paragraph = take((each) => each.trim() !== '' && !startsBlock(each));
      // A line that looks like the start of something and is not.
      if (paragraph.length === 0) paragraph.push(lines[at++] ?? '');
      made.push(<p key={key}>{inline(paragraph.join('\n'))}</p>);
    }
  }
  return made;
}

const isItem = (line: string): boolean => /^\s*([-*+]|\d{1,9}[.)])\s+/.test(line);
const startsBlock = (line: string): boolean => /^\s*(```|~~~|>|#{1,6}\s)/.test(line) || isItem(line);

function list(lines: readonly string[], key: number): ReactNode {
  const indent = /^\s*/.exec(lines[0] ?? '')?.[0].length ?? 0;
  const items: string[][] = [];
  for (const line of lines) {
    const own = /^\s*/.exec(line)?.[0].length ?? 0;
    if (isItem(line) && own <= indent) items.push([line.replace(/^\s*([-*+]|\d{1,9}[.)])\s+/, '')]);
    else items.at(-1)?.push(line.slice(Math.min(own, indent + 2)));
  }
  const Kind = /^\s*\d/.test(lines[0] ?? '') ? 'ol' : 'ul';
  return (
    <Kind key={key}>
      {items.map(([first = '', ...rest], at) => (
        <li key={at}>
          {inline(first)}
          {rest.length > 0 && blocks(rest)}
        </li>
      ))}
    </Kind>
  );
}

function table(lines: readonly string[], key: number): ReactNode {
  const cells = (line: string): string[] =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim());
  const [head = '', , ...rows] = lines;
  return (
    <table key={key}>
      <thead>
        <tr>
          {cells(head).map((cell, at) => (
            <th key={at}>{inline(cell)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {cells(row).map((cell, column) => (
              <td key={column}>{inline(cell)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const spans = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\n]+)\*|\b_([^_\n]+)_\b|!?\[([^\]\n]*)\]\(([^()\s]*)\)/g;

function inline(text: string): ReactNode[] {
  const made: ReactNode[] = [];
  let at = 0;
  for (const match of text.matchAll(spans)) {
    if (match.index > at) made.push(text.slice(at, match.index));
    at = match.index + match[0].length;
    const [, , code, strong, strong2, em, em2, label, target] = match;
    const key = made.length;
    if (code !== undefined) made.push(<code key={key}>{code.trim()}</code>);
    else if (strong ?? strong2) made.push(<strong key={key}>{inline(strong ?? strong2 ?? '')}</strong>);
    else if (em ?? em2) made.push(<em key={key}>{inline(em ?? em2 ?? '')}</em>);
    else made.push(link(label ?? '', target ?? '', key));
  }
  if (at < text.length) made.push(text.slice(at));
  return made;
}

/** Pictures are links too: nothing is loaded from anywhere. */
function link(label: string, target: string, key: number): ReactNode {
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return label || target;
  return (
    <a key={key} href={target} target="_blank" rel="noopener noreferrer nofollow">
      {label || target}
    </a>
  );
}
