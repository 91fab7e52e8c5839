/** The registry of everything that can be wrong with a manifest or an overlay. A code has one meaning, for good. */

export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code: FindingCode;
  readonly file: string;
  /** From 1, as is column. */
  readonly line: number;
  readonly column: number;
  /** Such as sandbox.paths[0]; empty for the whole file. */
  readonly path: string;
  readonly message: string;
  readonly fix: string;
}

/** A finding before it is known where in the file it is. */
export interface Problem {
  readonly code: FindingCode;
  readonly path: Path;
  readonly message: string;
  /** More precise than the one of the registry. */
  readonly fix?: string;
  /** Which side of `key: value` the path means. */
  readonly at?: 'key' | 'value';
  /** Place in the text, for what no path leads to. */
  readonly offset?: number;
}

export type Path = readonly PropertyKey[];

interface FindingKind {
  readonly severity: Finding['severity'];
  readonly meaning: string;
  readonly fix: string;
}

const error = (meaning: string, fix: string): FindingKind => ({ severity: 'error', meaning, fix });
const warning = (meaning: string, fix: string): FindingKind => ({ severity: 'warning', meaning, fix });

export const findingKinds = {
  'manifest.too_large': error('The file is larger than 1Mi.', 'Remove what does not belong into a manifest.'),
  'manifest.syntax': error(
    'It is not YAML that can be read safely.',
    'Correct the YAML: indentation by spaces, closed quotes and brackets.',
  ),
  'manifest.duplicate_key': error('A key stands twice in one mapping.', 'Remove one of the two.'),
  'manifest.version_missing': error('The manifest does not say which version of the format it has.', 'Add a line: version: 1'),
  'manifest.version_unsupported': error('This Skillbox does not know that version of the format.', 'Write version: 1'),
  'manifest.unknown_key': error('There is no such key here.', 'Remove it, or correct its spelling.'),
  'manifest.wrong_type': error('The value is of the wrong kind.', 'Write a value of the kind that the message names.'),
  'manifest.unknown_value': error('The value is not one of those that are allowed.', 'Use one of the values that the message lists.'),
  'manifest.bad_value': error('The value is out of range.', 'Use a value within the range that the message names.'),
  'manifest.bad_name': error('The name has characters that names cannot have.', 'Use lower-case letters, digits and dashes.'),
  'manifest.bad_size': error('The text is not a size.', 'Write a number with a unit, such as 512Mi or 5Gi.'),
  'manifest.bad_path': error('The path is not absolute.', 'Write the whole path, from / on.'),
  'manifest.layer_required': error(
    'The layer is part of the floor of every sandbox.',
    'Remove it; skillbox doctor says how to get the layer.',
  ),
  'manifest.interpreter_missing': error('There is no such program.', 'Install it, correct the path, or remove the line.'),
  'manifest.interpreter_private': error(
    'The interpreter lies where no sandbox may look: in a home, the state root, or a folder such as /etc or /tmp.',
    'Install it for all users, such as under /usr/local or /opt.',
  ),
  'manifest.path_missing': error('There is nothing at the path.', 'Create it, correct it, or remove the line.'),
  'manifest.path_forbidden': error(
    'The path would show a sandbox what it must not see, or cover what is its own.',
    'Copy what skills need to a folder of its own, such as /opt/data or /srv/data.',
  ),
  'manifest.repeated_item': warning('A list names the same thing twice.', 'Remove one of the two.'),
  'manifest.template_contradicts': error(
    'Two keys of a template contradict each other.',
    'Change one of the two; docs/templates.md explains them.',
  ),
  'manifest.image_missing': error(
    'The workspace is to be made by docker, and nobody says of which image.',
    'Add workspace.image, with bash in it, and name it in SKILLBOX_IMAGE_ALLOWLIST.',
  ),
  'manifest.slots_above_host': warning(
    'A tenant has more slots than this host runs executions at once.',
    'Lower slots, or raise SKILLBOX_MAX_CONCURRENT_EXECS.',
  ),
  'graph.duplicate_id': error(
    'Two items of one section have the same id, in the box and the overlay together.',
    'Give one of the two another id.',
  ),
  'graph.reserved_id': error('The id belongs to what the box makes itself.', 'Give it another id.'),
  'graph.duplicate_path': error('Two items lie at the same path.', 'Give one of the two another path, or remove it.'),
  'graph.unknown_reference': error('An item names another that is not declared.', 'Declare it, or correct the name.'),
  'graph.cycle': error('Items need each other in a circle.', 'Remove one of the dependencies that the message names.'),
  'graph.field_missing': error('A field is missing that its kind needs.', 'Add the field that the message names.'),
  'graph.contradiction': error('Two fields contradict each other.', 'Remove or change one of the two.'),
  'graph.sha256_missing': error(
    'A download without a SHA-256 could be anything.',
    'Add source.sha256: run sha256sum on a copy that you trust.',
  ),
  'graph.unknown_placeholder': error(
    'Nobody says what the placeholder stands for.',
    'Set the variable in .env beside the manifest, or correct its name.',
  ),
  'graph.secret_misplaced': error(
    'A secret would show in a place that is not secret.',
    'Use it as a value of env only; the command then says $NAME.',
  ),
  'graph.secret_written': warning('A secret stands in a file as it is.', 'Write ${NAME} and put the value into .env.'),
  'graph.bad_value': error('The value is not usable once its placeholders are filled in.', 'Correct the value, or the variable.'),
  'graph.bad_retention': error('Logs cannot be kept for less than some time.', 'Write a number of days above 0.'),
  'graph.template_unknown': error('There is no such template.', 'Use a template that is built in or declared under templates.'),
  'graph.port_shared': warning(
    'Two services want the same port.',
    'Give one of the two another port, or put them into profiles that never meet.',
  ),
  'graph.subset_broken': error(
    'A local-* profile is a part of local-core, never more than it, and has its own bridge where local-core has one.',
    'Add local-core to the profiles of the item, or take it out; give the profile a bridge of its own.',
  ),
  'graph.connector_unknown': error(
    'A client has a connector that the box does not offer.',
    'Add it to graph.connectors of the box, or remove it.',
  ),
  'graph.client_mismatch': error(
    'The overlay names another client than its folder.',
    'Make client.id and the name of the folder the same.',
  ),
  'graph.profile_unknown': error('A default profile is one that nothing is declared for.', 'Correct the name, or declare an item for it.'),
  'graph.client_unknown': error('The default client has no overlay.', 'Correct the name, or make its overlay.'),
} as const satisfies Record<string, FindingKind>;

export type FindingCode = keyof typeof findingKinds;

export function formatFinding({ file, line, column, code, message, fix }: Finding): string {
  return `${file}:${line}:${column} ${code} ${message} — ${fix}`;
}

export function formatPath(path: Path): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${String(part)}`)).join('');
}
