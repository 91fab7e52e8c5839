/**
 * .skillignore: which files of a skill are not installed, in the words of .gitignore. It comes from whoever wrote the repository, so it is
 * matched in one pass over the path: no pattern can make that slow.
 */

/** What no skill needs. */
export const defaultIgnores = ['.git', '__pycache__/', '*.pyc', '.DS_Store', '.skillignore'];

export interface Ignore {
  /** `path` from the folder of the file, with slashes. */
  ignores(path: string, isFolder: boolean): boolean;
}

/** Later lines win over earlier ones. */
export function parseIgnore(text: string, defaults: readonly string[] = defaultIgnores): Ignore {
  const rules = [...defaults, ...text.split(/\r?\n/).slice(0, maxLines)].flatMap(ruleOf);
  return {
    ignores(path, isFolder) {
      let ignored = false;
      for (const { foldersOnly, negated, steps } of rules)
        if (negated === ignored && (isFolder || !foldersOnly) && matches(steps, path)) ignored = !negated;
      return ignored;
    },
  };
}

const maxLines = 1000;

interface Rule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly steps: readonly Step[];
}

/** one: a character. some: any number of them. folders: any number of folders, each with its slash, or none. */
type Step = { readonly kind: 'one' | 'some'; fits(character: string): boolean } | { readonly kind: 'folders' };

function ruleOf(line: string): Rule[] {
  let text = line.slice(0, 500).replace(/(?<!\\)[ \t]+$/, '');
  if (text === '' || text.startsWith('#')) return [];
  const negated = text.startsWith('!');
  if (negated) text = text.slice(1);
  const foldersOnly = text.endsWith('/');
  if (foldersOnly) text = text.slice(0, -1);
  // With a slash in it, it is meant from here; without one, anywhere below.
  const anchored = text.includes('/');
  if (text.startsWith('/')) text = text.slice(1);
  if (text === '') return [];
  return [{ negated, foldersOnly, steps: [...(anchored ? [] : [{ kind: 'folders' as const }]), ...stepsOf(text)] }];
}

const noSlash = (character: string): boolean => character !== '/';

function stepsOf(glob: string): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < glob.length; ) {
    const rest = glob.slice(at);
    const stars = /^\*+/.exec(rest)?.[0].length ?? 0;
    const next = glob[at + stars];
    if (stars > 1 && (at === 0 || glob[at - 1] === '/') && (next === '/' || next === undefined)) {
      steps.push(next === '/' ? { kind: 'folders' } : { kind: 'some', fits: () => true });
      at += next === '/' ? stars + 1 : stars;
      continue;
    }
    if (stars > 0) {
      steps.push({ kind: 'some', fits: noSlash });
      at += stars;
      continue;
    }
    const [set, body] = /^\[([!^]?[^\]/]+)\]/.exec(rest) ?? [];
    if (set && body) {
      steps.push({ kind: 'one', fits: setOf(body) });
      at += set.length;
      continue;
    }
    const isEscaped = glob[at] === '\\' && at + 1 < glob.length;
    const literal = glob[isEscaped ? at + 1 : at];
    steps.push({ kind: 'one', fits: literal === '?' && !isEscaped ? noSlash : (character) => character === literal });
    at += isEscaped ? 2 : 1;
  }
  return steps;
}

function setOf(body: string): (character: string) => boolean {
  const negated = /^[!^]/.test(body);
  const characters = negated ? body.slice(1) : body;
  const has = (character: string): boolean => {
    for (let at = 0; at < characters.length; at += 1) {
      const first = characters[at] ?? '';
      if (characters[at + 1] === '-' && at + 2 < characters.length) {
        if (first <= character && character <= (characters[at + 2] ?? '')) return true;
        at += 2;
      } else if (first === character) return true;
    }
    return false;
  };
  return (character) => character !== '/' && has(character) !== negated;
}

/** All ways through the steps at once. A place before `folders` may pass it; once in a folder, only its slash leads on. */
function matches(steps: readonly Step[], path: string): boolean {
  const size = steps.length + 1;
  let ready = new Uint8Array(size);
  let inFolder = new Uint8Array(size);
  ready[0] = 1;
  const passEmpty = (): void => {
    for (let at = 0; at < steps.length; at += 1) if (ready[at] && steps[at]?.kind !== 'one') ready[at + 1] = 1;
  };
  passEmpty();
  for (const character of path) {
    const nextReady = new Uint8Array(size);
    const nextInFolder = new Uint8Array(size);
    for (let at = 0; at < steps.length; at += 1) {
      const step = steps[at];
      if (step?.kind === 'folders') {
        if (!ready[at] && !inFolder[at]) continue;
        if (character === '/') nextReady[at + 1] = 1;
        nextInFolder[at] = 1;
      } else if (step && ready[at] && step.fits(character)) nextReady[step.kind === 'one' ? at + 1 : at] = 1;
    }
    ready = nextReady;
    inFolder = nextInFolder;
    passEmpty();
  }
  return ready[steps.length] === 1;
}
