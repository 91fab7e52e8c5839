/** Into files of the person's own. As bytes of no kind: whatever it is, the browser keeps it and opens nothing as a page of this origin. */

const noKind = 'application/octet-stream';

export const saveBytes = (name: string, bytes: Uint8Array): void =>
  save(name, new Blob([bytes as Uint8Array<ArrayBuffer>], { type: noKind }));

export async function saveStream(name: string, body: ReadableStream<Uint8Array>): Promise<void> {
  save(name, await new Response(body, { headers: { 'Content-Type': noKind } }).blob());
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser needs a moment to take it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
