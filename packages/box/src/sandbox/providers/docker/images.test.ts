import { expect, it } from 'vitest';
import { allowedImage, fullName } from './images.ts';

it.each([
  ['python', 'docker.io/library/python:latest'],
  ['python:3.12', 'docker.io/library/python:3.12'],
  ['me/tool', 'docker.io/me/tool:latest'],
  ['docker.io/python', 'docker.io/library/python:latest'],
  ['localhost/tool', 'localhost/tool:latest'],
  ['registry.example:5000/a/b', 'registry.example:5000/a/b:latest'],
  ['python@sha256:00', 'docker.io/library/python@sha256:00'],
])('%s is %s', (reference, full) => {
  expect(fullName(reference)).toBe(full);
});

it('allows what is listed, in either spelling', () => {
  expect(allowedImage('python', ['docker.io/library/python:latest'])).toBe('docker.io/library/python:latest');
});

it.each([
  ['another tag', 'python:3.12', ['python']],
  ['another registry', 'evil.example/library/python', ['python']],
  ['a longer name', 'python-evil', ['python']],
  ['anything, by an empty list', 'python', []],
  ['no image', undefined, ['python']],
  ['not a name', ['python'], ['python']],
])('refuses %s', (_why, asked, allowlist) => {
  expect(() => allowedImage(asked, allowlist)).toThrow(expect.objectContaining({ code: 'image_unsupported' }));
});
