/** The filter is a form inside a query parameter whose names and values are percent-encoded once more. */
export function parseMetadataFilter(text: string): Record<string, string> {
  return Object.fromEntries([...new URLSearchParams(text)].map(([name, value]) => [decode(name), decode(value)]));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone percent sign: a client that encodes less means it as it is.
    return text;
  }
}
