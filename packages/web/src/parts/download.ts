/** Bytes into a file of the person's own. */
export function saveBytes(name: string, bytes: Uint8Array): void {
  // Whatever it is, the browser keeps it and opens nothing.
  const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
