/** Names from inside a sandbox, so that what is read is what is there: a name may turn the text around or hide in it. */

const deceiving = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

export const plainName = (name: string): string =>
  name.replace(deceiving, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
