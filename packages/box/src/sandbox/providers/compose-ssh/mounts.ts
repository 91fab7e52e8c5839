/** Mounts of services in both spellings that a resolved configuration may have. */

export interface ProjectMount {
  readonly kind: 'volume' | 'bind' | 'tmpfs' | 'other';
  readonly source?: string;
  readonly writable: boolean;
  /** Something that is not plain reading and writing, such as mounts that spread to the host. */
  readonly special: boolean;
}

export function mountOf(given: unknown): ProjectMount {
  if (typeof given === 'string') return shortMount(given);
  if (typeof given !== 'object' || given === null) return other;
  const { type, source, read_only, bind } = given as Record<string, unknown>;
  const kind = type === 'volume' || type === 'bind' || type === 'tmpfs' ? type : 'other';
  const { propagation } = (bind ?? {}) as Record<string, unknown>;
  return {
    ...{
      kind,
      writable: read_only !== true,
      special: propagation !== undefined && propagation !== 'rprivate' && propagation !== 'private',
    },
    ...(typeof source === 'string' && { source }),
  };
}

const other: ProjectMount = { kind: 'other', writable: true, special: true };
const plainModes = new Set(['rw', 'ro', 'z', 'Z', 'nocopy', 'cached', 'delegated', 'consistent']);

/** `/target`, `source:/target`, `source:/target:modes`. A source that is a path is a bind. */
function shortMount(text: string): ProjectMount {
  const [first = '', target, modes = '', ...more] = text.split(':');
  if (more.length > 0) return other;
  if (target === undefined) return { kind: 'volume', writable: true, special: false };
  const words = modes.split(',').filter(Boolean);
  return {
    kind: /^[a-zA-Z0-9][\w.-]*$/.test(first) ? 'volume' : 'bind',
    source: first,
    writable: !words.includes('ro'),
    special: words.some((word) => !plainModes.has(word)),
  };
}
