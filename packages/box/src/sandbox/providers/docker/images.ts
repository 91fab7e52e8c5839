/** Which images sandboxes may be made of. */

import { BoxError } from '@skillbox/protocol';

/** The image that was asked for, if the operator allows it; an empty list allows none. */
export function allowedImage(asked: unknown, allowlist: readonly string[]): string {
  if (typeof asked !== 'string' || asked === '') {
    throw new BoxError('image_unsupported', 'A sandbox by docker needs an image.', {
      hint: 'Set image in the template, or workspace.image in skillbox.yaml for the workspace.',
    });
  }
  const image = fullName(asked);
  if (allowlist.some((allowed) => fullName(allowed) === image)) return image;
  throw new BoxError('image_unsupported', `The image ${asked} is not on the allow list.`, {
    hint:
      allowlist.length === 0
        ? 'The allow list of images is empty, which denies all; the operator sets SKILLBOX_IMAGE_ALLOWLIST.'
        : `Use ${allowlist.join(' or ')}, or add it to SKILLBOX_IMAGE_ALLOWLIST.`,
  });
}

/** As the engine reads it: `python` is docker.io/library/python:latest. Short names would let one image pass for another. */
export function fullName(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const path = isRegistry ? rest.join('/') : reference;
  const registry = isRegistry ? first : 'docker.io';
  const repository = registry === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
  const hasTag = /[:@]/.test(repository.slice(repository.lastIndexOf('/')));
  return `${registry}/${repository}${hasTag ? '' : ':latest'}`;
}
