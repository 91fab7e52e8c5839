/** A look at bytes: a picture, a table or text. Pictures are shown as pictures only, so that one with a script in it is still none. */

import { useEffect, useMemo, useState } from 'react';
import { parseCsv } from './csv.ts';
import { JsonTree } from './json-tree.tsx';
import { Markdown } from './markdown.tsx';
import { Empty } from './states.tsx';
import { Virtual } from './virtual.tsx';
import './preview.css';

const pictures: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: 'image/svg+xml',
};
const longestText = 400_000;

export function Preview({ name, bytes }: { readonly name: string; readonly bytes: Uint8Array }) {
  const kind = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const picture = pictures[kind];
  const text = useMemo(() => (picture ? undefined : textOf(bytes)), [picture, bytes]);
  if (bytes.length === 0) return <Empty small title="It is empty" />;
  if (picture) return <Picture name={name} type={picture} bytes={bytes} />;
  if (text === undefined)
    return (
      <Empty small title="No text and no picture" icon="file">
        <p>Download it to look at it.</p>
      </Empty>
    );
  if (kind === 'csv' || kind === 'tsv') return <Table text={text} separator={kind === 'tsv' ? '\t' : undefined} />;
  if (kind === 'json') return <JsonOrText name={name} text={text} />;
  if (kind === 'md')
    return (
      <div className="preview-pad">
        <Markdown text={text.slice(0, longestText)} />
      </div>
    );
  return <Plain text={text} />;
}

function Picture({ name, type, bytes }: { readonly name: string; readonly type: string; readonly bytes: Uint8Array }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return url ? <img src={url} alt={name} /> : null;
}

function JsonOrText({ name, text }: { readonly name: string; readonly text: string }) {
  const value = useMemo(() => {
    try {
      return { parsed: JSON.parse(text) as unknown };
    } catch {
      // Named so, but something else: then it is text.
      return undefined;
    }
  }, [text]);
  return value ? (
    <div className="preview-pad">
      <JsonTree value={value.parsed} label={name} />
    </div>
  ) : (
    <Plain text={text} />
  );
}

function Table({ text, separator }: { readonly text: string; readonly separator: string | undefined }) {
  const [head = [], ...rows] = useMemo(() => parseCsv(text, separator), [text, separator]);
  return (
    <div className="csv">
      <div className="csv-row head">
        {head.map((cell, at) => (
          <span key={at}>{cell}</span>
        ))}
      </div>
      <Virtual
        className="csv-rows"
        label="Rows of the table"
        count={rows.length}
        rowHeight={26}
        row={(index) => (
          <div className="csv-row">
            {head.map((_, at) => (
              <span key={at}>{rows[index]?.[at] ?? ''}</span>
            ))}
          </div>
        )}
      />
      <p className="hint">{rows.length} rows</p>
    </div>
  );
}

function Plain({ text }: { readonly text: string }) {
  return (
    <pre tabIndex={0}>
      {text.slice(0, longestText)}
      {text.length > longestText && `\n… ${text.length - longestText} more characters: download it for the rest`}
    </pre>
  );
}

/** undefined for what is not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8000).includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // That is the question.
    return undefined;
  }
}
