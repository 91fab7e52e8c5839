const longest = 512 * 1024;

/** The text that these bytes are; undefined when they are none, or too many to be shown. */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.length > longest || bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8.
    return undefined;
  }
}
