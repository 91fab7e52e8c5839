/** The one registry of error codes: what each means in HTTP, in a shell, and what to do about it. */

export interface ErrorKind {
  /** HTTP status. */
  readonly status: number;
  /** Exit code of the CLI. */
  readonly exit: number;
  /** What the reader can do; a thrown error may carry a more precise one. */
  readonly hint: string;
}

/** Exit codes: 0 fine, 1 the work failed, 2 wrong usage or input, 3 not allowed, 4 not found, 5 conflict, 6 try later, 7 box unreachable, 8 box at fault. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, denied: 3, notFound: 4, conflict: 5, busy: 6, unreachable: 7, internal: 8 } as const;

const kind = (status: number, exit: number, hint: string): ErrorKind => ({ status, exit, hint });

export const errorKinds = {
  bad_request: kind(400, 2, 'Compare the request with /openapi.json; details name the field.'),
  invalid_json: kind(400, 2, 'Send a body that is valid JSON, with Content-Type: application/json.'),
  invalid_cursor: kind(400, 2, 'Use next_cursor of the previous page unchanged, or leave cursor out.'),
  unauthorized: kind(401, 3, 'Send Authorization: Bearer <key>. The local admin key is in .skillbox-state/admin.key.'),
  insufficient_credits: kind(
    402,
    3,
    'Destroy sandboxes that are no longer needed, or ask an administrator for credits: skillbox credits grant.',
  ),
  forbidden: kind(403, 3, 'Use a key that has the scope, or ask an administrator for one: skillbox key create.'),
  tenant_mismatch: kind(403, 3, 'Leave X-Tenant-ID (or -t) out: the tenant comes from the key.'),
  sign_in_expired: kind(403, 3, 'A link signs in once, within minutes. Make a new one: skillbox open.'),
  link_expired: kind(403, 3, 'Read the execution again: it carries a fresh link.'),
  not_found: kind(404, 4, 'Check the name or id; what belongs to another tenant is not shown.'),
  skill_not_found: kind(404, 4, 'List what there is: skillbox skill list. Versions: skillbox skill versions NAME.'),
  template_not_found: kind(404, 4, 'List what there is: skillbox template list.'),
  method_not_allowed: kind(405, 2, 'See /openapi.json for the methods of this path.'),
  version_conflict: kind(409, 5, 'A version never changes. Raise the version in SKILL.md and push again.'),
  idempotency_conflict: kind(409, 5, 'This Idempotency-Key was used with another request: use a new one.'),
  already_exists: kind(409, 5, 'Choose another name.'),
  declared_in_manifest: kind(409, 5, 'Change it in skillbox.yaml and restart the box.'),
  already_finished: kind(409, 5, 'The execution has ended; there is nothing to cancel.'),
  invalid_state: kind(409, 5, 'Look at its state first: skillbox sandbox show ID.'),
  not_finished: kind(409, 5, 'Wait for its end, or cancel it first: skillbox exec cancel ID.'),
  too_large: kind(413, 2, 'Send less, or raise the limit on the server (docs/configuration.md).'),
  not_acceptable: kind(406, 2, 'Let Accept name what the message says, or leave it out.'),
  unsupported_media_type: kind(415, 2, 'Send application/zip, or multipart/form-data with a part named file.'),
  invalid_skill: kind(422, 2, 'Run skillbox skill lint on the folder: it shows file, line and fix.'),
  security_scan_failed: kind(422, 2, 'Remove what details name from the archive and push again.'),
  not_executable: kind(422, 2, 'This skill is instructions only: read it with skillbox skill show NAME and follow it.'),
  image_unsupported: kind(
    422,
    2,
    'Remove image from SKILL.md (bubblewrap uses the interpreters of the host), or have the operator allow it: SKILLBOX_IMAGE_ALLOWLIST.',
  ),
  dependencies_failed: kind(
    422,
    1,
    'Read why: skillbox skill build-log NAME. Mend it and push a new version, or try again: skillbox skill build NAME.',
  ),
  invalid_input: kind(422, 2, 'Make the input fit input_schema: skillbox skill show NAME.'),
  invalid_env: kind(422, 2, 'Rename the variable: names the sandbox sets itself cannot be overridden.'),
  invalid_template: kind(422, 2, 'Compare it with docs/templates.md; skillbox template validate shows what is wrong.'),
  secret_missing: kind(422, 2, 'Keep the secrets that details name, as the tenant of the sandbox: skillbox secret set NAME.'),
  capability_missing: kind(422, 2, 'Choose a template whose provider can do this; details say what each candidate lacks.'),
  quota_exceeded: kind(
    403,
    3,
    'Delete skills (skillbox skill delete) or executions (skillbox exec delete) of this tenant, or ask for a larger quota.',
  ),
  rate_limited: kind(429, 6, 'Wait for Retry-After seconds and try again.'),
  queue_full: kind(429, 6, 'Wait for Retry-After seconds and try again; the box is working at its limit.'),
  sandbox_limit: kind(429, 6, 'Destroy sandboxes that are no longer needed, or raise SKILLBOX_TENANT_SANDBOXES.'),
  shutting_down: kind(503, 6, 'The box is stopping; try again when it is back.'),
  overloaded: kind(503, 6, 'Wait for Retry-After seconds and try again; the box has more to do than it can.'),
  unavailable: kind(503, 6, 'A part the box needs does not answer: skillbox health names it.'),
  sandbox_unavailable: kind(503, 6, 'The host lacks a layer of the sandbox: run skillbox doctor for the line that mends it.'),
  dependencies_building: kind(
    503,
    6,
    'Try again when they are there: skillbox skill show NAME says so; skillbox skill build-log NAME shows how far it is.',
  ),
  no_provider: kind(503, 6, 'Details say why each candidate was passed over; mend one, or choose another template.'),
  nothing_listens: kind(502, 6, 'Start a server in the sandbox on that port, bound to 127.0.0.1 or 0.0.0.0, and try again.'),
  on_another_host: kind(503, 6, 'Try again, or send the request to the host that the message names.'),
  internal: kind(500, 8, 'This is a fault of the box. The server log has the cause under this request id.'),

  // How an execution can end other than well. They stand in the record, not in a response status.
  exit_nonzero: kind(200, 1, 'Read the logs: skillbox exec logs ID.'),
  killed_by_signal: kind(200, 1, 'Read the logs; a process killed from inside shows its signal.'),
  timeout: kind(200, 1, 'Raise timeout in SKILL.md or in the request (up to the server maximum), or do less per run.'),
  queue_timeout: kind(200, 6, 'The box was busy for longer than the queue allows; try again later.'),
  cancelled: kind(200, 1, 'Somebody cancelled it.'),
  interrupted: kind(200, 1, 'The server stopped while it ran. It was not run again: start it anew if that is safe.'),
  memory_exceeded: kind(200, 1, 'Raise resources.memory in SKILL.md, or use less.'),
  output_invalid: kind(200, 1, 'Write valid JSON to the file named by SANDBOX_OUTPUT, as a plain file.'),
  output_too_large: kind(200, 1, 'Put large results into files under SANDBOX_FILES_DIR.'),
  output_schema_mismatch: kind(200, 1, 'Make the output fit output_schema of the skill; details name the path.'),
  too_many_artifacts: kind(200, 1, 'Write fewer files, or pack them into one.'),
  artifact_too_large: kind(200, 1, 'Write smaller artifacts, or compress them.'),
  sandbox_failed: kind(200, 8, 'The sandbox could not be started or broke. Run skillbox doctor; the server log has the cause.'),

  // The declared environment. Commands of the graph end with 1 for an error, 2 for drift, 3 when they need something from a person.
  graph_invalid: kind(422, 1, 'Each finding names file, line and fix: skillbox render.'),
  graph_busy: kind(409, 1, 'Wait for the other command of the graph, which the message names, and try again.'),
  needs_input: kind(422, 3, 'Give what the message asks for, and run the command again.'),
  client_not_found: kind(404, 1, 'The message lists the overlays there are; a new one is clients/ID/overlay.yaml in the state root.'),
  graph_item_not_found: kind(404, 1, 'skillbox status lists what is selected; --client and --profile select more.'),
  sync_failed: kind(502, 1, 'Details say which item failed and why; mend it and run skillbox sync again.'),
  task_failed: kind(500, 1, 'Its log has the cause: skillbox logs. Mend it and run skillbox bootstrap again.'),
  service_failed: kind(500, 1, 'Read its last lines; all of them: skillbox logs --service ID.'),
  port_in_use: kind(409, 1, 'Stop what listens there, or give the service another port.'),
  command_missing: kind(422, 1, 'Install the program, or correct the command of the item in the manifest.'),
  session_not_found: kind(404, 1, 'List them: skillbox session status --client ID.'),
  session_state_conflict: kind(409, 1, 'The session has ended: resume it first with skillbox session resume ID, or start a new one.'),
  LOCAL_RUNTIME_PROFILE_UNKNOWN: kind(404, 1, 'No item is declared for the profile; skillbox render lists the profiles there are.'),
  LOCAL_RUNTIME_START_BLOCKED: kind(
    409,
    1,
    'Mend what the message names (an env file, a task, a service it needs), then run skillbox up again.',
  ),
  LOCAL_RUNTIME_SERVICE_DEFERRED: kind(409, 1, 'The parity ledger defers this surface: start it the old way, or declare it as a service.'),
  LOCAL_RUNTIME_MODE_UNSUPPORTED: kind(422, 1, 'Use a mode that each service declares under commands; the message names them.'),
  LOCAL_RUNTIME_COVERAGE_GAP: kind(409, 1, 'Make the parity ledger and the declared services agree: the message names what differs.'),
  LOCAL_RUNTIME_ENV_BRIDGE_FAILED: kind(500, 1, 'Mend the command of the bridge, as its last lines say, and try again.'),
  LOCAL_RUNTIME_ENV_OUTPUT_MISSING: kind(
    500,
    1,
    'The bridge ended well but wrote no such file: correct its command or its legacy_targets.',
  ),
  SKILL_CONFIG_INVALID: kind(422, 1, 'Correct the file that the message names; docs/box.md shows its form.'),
  SKILL_REPO_UNREACHABLE: kind(502, 1, 'Check the address, the network and the key for the repository, then run skillbox sync again.'),
  SKILL_REPO_CLONE_FAILED: kind(502, 1, 'Check that the ref exists and that there is room on the disk, then run skillbox sync again.'),
  SKILL_REPO_DIRTY: kind(409, 1, 'Commit or remove the changes in the clone; it was left as it is.'),
  SKILL_NOT_FOUND_IN_REPO: kind(422, 1, 'Correct pick: the message lists the skills that the repository has.'),
  SKILL_NOT_INSTALLED: kind(409, 1, 'Run skillbox sync.'),
  SKILL_INSTALL_STALE: kind(409, 1, 'Run skillbox sync; what was changed by hand is replaced.'),
  SKILL_EXTRA_INSTALLED: kind(409, 1, 'Remove the skill, or declare it in skill-repos.yaml.'),

  // The CLI's own.
  usage: kind(400, 2, 'Run skillbox help for the commands and their flags.'),
  unreachable: kind(503, 7, 'Start the box with skillbox up, or name it with --server.'),
  manifest_invalid: kind(400, 2, 'Each finding names file, line and fix: skillbox config validate.'),
  config_invalid: kind(400, 2, 'Correct the variable or flag; docs/configuration.md lists them all.'),
  lint_failed: kind(422, 2, 'Mend the findings and try again.'),
  doctor_failed: kind(503, 1, 'Run the lines that doctor prints.'),
  start_failed: kind(503, 1, 'The last lines of the log say why: .skillbox-state/logs/server.log.'),
  already_running: kind(409, 5, 'Stop the other server first: skillbox down.'),
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorKinds;

export interface ErrorOptions {
  readonly hint?: string;
  readonly details?: unknown;
  readonly cause?: unknown;
  /** Seconds for Retry-After. */
  readonly retryAfter?: number;
}

/** The only error that is thrown on purpose. */
export class BoxError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: unknown;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'BoxError';
    this.code = code;
    this.hint = options.hint ?? errorKinds[code].hint;
    this.details = options.details;
    this.retryAfter = options.retryAfter;
  }

  get status(): number {
    return errorKinds[this.code].status;
  }

  get exit(): number {
    return errorKinds[this.code].exit;
  }
}

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(errorKinds, text);
