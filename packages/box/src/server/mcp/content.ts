/** What tools answer with: texts, pictures, links to resources. */

import { extname } from 'node:path/posix';

export type Content = Readonly<Record<string, unknown>> & { readonly type: string };

export interface ToolResult {
  readonly content: readonly Content[];
  readonly structuredContent?: unknown;
  readonly isError?: true;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** Beyond this a text is cut, and the whole is to be had as a resource where there is one. Models pay for every letter. */
export const longestText = 64 * 1024;

export const text = (value: string): Content => ({ type: 'text', text: value });

export function cut(value: string, whole: string): string {
  if (value.length <= longestText) return value;
  return `${value.slice(0, longestText)}\n… ${value.length - longestText} more characters. ${whole}`;
}

export function link(uri: string, name: string, more: { readonly size?: number; readonly description?: string } = {}): Content {
  return { type: 'resource_link', uri, name, mimeType: mimeOf(name), ...more };
}

export const failure = (message: string): ToolResult => ({ content: [text(message)], isError: true });

/** undefined for bytes that are no text. */
export function asText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8: that is the answer.
    return undefined;
  }
}

const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
};

export const mimeOf = (name: string): string => types[extname(name).toLowerCase()] ?? 'application/octet-stream';

/** Pictures that models look at. */
export const isPicture = (mime: string): boolean => /^image\/(png|jpeg|gif|webp)$/.test(mime);
