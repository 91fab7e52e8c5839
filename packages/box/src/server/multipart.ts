/** The one part `file` of a multipart form; by Node's own parser, on a body that is already bounded. */

import { BoxError } from '@skillbox/protocol';

export async function filePart(body: Buffer, contentType: string, limit: number): Promise<Buffer> {
  let form: FormData;
  try {
    form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch (cause) {
    throw new BoxError('bad_request', 'The multipart body cannot be read.', { cause });
  }
  const file = form.get('file');
  if (file === null || typeof file === 'string') throw new BoxError('bad_request', 'The form has no part named file with a zip in it.');
  if (file.size > limit) throw new BoxError('too_large', 'The file is too large.', { details: { max_bytes: limit } });
  return Buffer.from(await file.arrayBuffer());
}
