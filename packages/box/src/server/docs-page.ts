/** /docs: the API on one page, from the registry, with nothing loaded from anywhere. */

import type { CliFace, Command } from '../commands/command.ts';
import { commands } from '../commands/registry.ts';
import { version } from '../version.ts';

export function docsPage(): string {
  const groups = [...new Set(commands.map((command) => groupOf(command)))];
  const sections = groups.map(
    (group) =>
      `<h2>${escapeHtml(group)}</h2>${commands
        .filter((command) => groupOf(command) === group)
        .map(card)
        .join('')}`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Skillbox API</title><style>${style}</style></head>
<body><main><h1>Skillbox API <small>${escapeHtml(version)}</small></h1>
<p>Send <code>Authorization: Bearer &lt;key&gt;</code>. The machine-readable description is <a href="/openapi.json">/openapi.json</a>.</p>${sections.join('')}</main></body></html>`;
}

const groupOf = (command: Command): string => command.name.split('.')[0] ?? '';

function card({ http, summary, description, scope, cli }: Command): string {
  return `<article><p><b class="${http.method}">${http.method}</b> <code>${escapeHtml(http.path)}</code> <span>${escapeHtml(scope === 'any' ? 'any key' : (scope ?? 'no key needed'))}</span></p>
<p>${escapeHtml(summary)}. ${escapeHtml(description ?? '')}</p>${cli ? example(cli) : ''}</article>`;
}

const example = ({ examples }: CliFace): string => `<pre>${examples.map(escapeHtml).join('\n')}</pre>`;

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:52rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2.5rem;text-transform:capitalize}article{border-top:1px solid #8884;padding:.5rem 0}article p{margin:.3rem 0}small,span{color:#777;font-weight:normal}span{float:right;font-size:.85rem}
b{display:inline-block;min-width:4.5rem;font-family:monospace}.GET{color:#2a7}.POST{color:#27c}.PUT{color:#a70}.DELETE{color:#c33}pre{background:#8881;padding:.5rem .75rem;border-radius:6px;overflow-x:auto}`;
