/** Turns a request into what a sandbox needs, or refuses it before anything starts. */

import { BoxError, type ExecutionRequest, type Language } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import { checkEnv } from '../env-names.ts';
import { validateAgainst } from '../json-schema/schema.ts';
import type { ImageRunner, Provider, RunLimits } from '../sandbox/provider.ts';
import type { Skill } from '../skills/catalog.ts';
import { kindOf } from '../skills/dependencies/declared.ts';
import { dependencyEnv } from '../skills/dependencies/inside.ts';
import { parseDuration } from '../units.ts';

export interface Plan {
  readonly skill: Skill;
  readonly lang: Language;
  /** Full name of the image it runs in; without one it is the host's interpreter. */
  readonly image?: string;
  readonly argv: readonly string[];
  readonly limits: RunLimits;
  /** JSON text. */
  readonly input: string;
  /** The caller's and the skill's own variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly { readonly path: string; readonly data: Buffer }[];
}

/** Linux takes no single variable longer than 128 KiB; beyond this the file is the way. */
const longestVariable = 96 * 1024;
/** Images that mean "an interpreter", which the host has, unless the operator allows the image itself. */
const interpreterImage = /^(?:docker\.io\/(?:library\/)?)?(python|node|bash)(?::[\w.-]+)?$/;

export async function planExecution(
  skill: Skill,
  request: ExecutionRequest,
  config: Config,
  provider: Provider,
  images: ImageRunner | undefined,
): Promise<Plan> {
  const { definition } = skill;
  const { lang, entrypoint } = definition;
  if (definition.mode !== 'executable' || !lang || !entrypoint) {
    throw new BoxError(
      'not_executable',
      `${skill.name} ${skill.version} has no entrypoint: it is instructions for an agent, not a program.`,
      {
        hint: `Read it with skillbox skill show ${skill.name} and follow it.`,
      },
    );
  }
  const image = imageOf(skill, images);
  if (image !== undefined && skill.lock !== null) {
    throw new BoxError(
      'image_unsupported',
      `${skill.name} runs in the image ${image}, and its dependencies are for the host's interpreter.`,
      {
        hint: 'Put the packages into the image and remove their list from the skill, or remove image from SKILL.md.',
      },
    );
  }
  const interpreter = image === undefined ? interpreterOf(lang, provider) : inImage[lang];
  const env = { ...definition.env, ...request.env };
  checkEnv(env);
  checkFileNames(Object.keys(request.files));
  const input = request.input === undefined ? {} : request.input;
  if (definition.inputSchema) {
    const problems = await validateAgainst(definition.inputSchema, input);
    const first = problems?.[0];
    if (first) {
      throw new BoxError('invalid_input', `The input does not fit the skill: ${first.path || '/'} ${first.message}`, {
        details: { problems },
      });
    }
  }
  return {
    skill,
    lang,
    ...(image !== undefined && { image }),
    argv: [interpreter, `/sandbox/scripts/${entrypoint}`],
    limits: limitsFor(definition, request, config),
    input: JSON.stringify(input),
    env,
    files: Object.entries(request.files).map(([path, text]) => ({ path, data: Buffer.from(text, 'base64') })),
  };
}

/** By name, found on PATH: where it lies is the image's matter. */
const inImage: Record<Language, string> = { python: 'python3', node: 'node', bash: 'bash' };

/** undefined when the host's interpreter is meant. There is no third way: what names another image never runs without it. */
function imageOf({ name, definition: { image } }: Skill, images: ImageRunner | undefined): string | undefined {
  if (!image) return undefined;
  if (interpreterImage.test(image) && !images?.isAllowed(image)) return undefined;
  if (images) return images.allowed(image);
  throw new BoxError('image_unsupported', `${name} asks for the image ${image}, and this box has no Docker engine.`, {
    hint: 'Remove image from SKILL.md, or have the operator set SKILLBOX_DOCKER_HOST and SKILLBOX_IMAGE_ALLOWLIST.',
  });
}

function interpreterOf(lang: Language, provider: Provider): string {
  const interpreter = provider.interpreter(lang);
  if (interpreter) return interpreter.path;
  throw new BoxError('sandbox_unavailable', `This host has no ${lang} interpreter a sandbox can use.`, {
    hint: `Install one in /usr, or name it in skillbox.yaml under sandbox.interpreters.${lang}.`,
  });
}

/** What every interpreter is started with. */
export const baseEnv = {
  LANG: 'C.UTF-8',
  PYTHONUNBUFFERED: '1',
  PYTHONDONTWRITEBYTECODE: '1',
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/tmp',
} as const;

/** Of those, what a skill with dependencies needs otherwise. */
export const startEnv = ({ lock }: Pick<Skill, 'lock'>): Record<string, string> =>
  lock === null ? { PATH: baseEnv.PATH } : dependencyEnv(kindOf(lock), baseEnv.PATH);

/** The variables of the contract; a caller cannot override them, checkEnv sees to that. */
export function sandboxEnv({ env, input, skill }: Plan): Record<string, string> {
  return {
    ...baseEnv,
    ...env,
    ...startEnv(skill),
    HOME: baseEnv.HOME,
    SANDBOX_OUTPUT: '/sandbox/out/output.json',
    SANDBOX_FILES_DIR: '/sandbox/out/files/',
    SANDBOX_INPUT_DIR: '/sandbox/input/',
    ...(Buffer.byteLength(input) <= longestVariable && { SANDBOX_INPUT: input }),
    ...(Buffer.byteLength(skill.instructions) <= longestVariable && { SKILL_INSTRUCTIONS: skill.instructions }),
  };
}

export function sandboxInputs({ input, files }: Plan): { path: string; data: Buffer }[] {
  return [
    { path: '/sandbox/input.json', data: Buffer.from(input) },
    ...files.map(({ path, data }) => ({ path: `/sandbox/input/${path}`, data })),
  ];
}

/** What no file system could hold is the caller's fault, not the sandbox's. */
function checkFileNames(paths: readonly string[]): void {
  const refuse = (path: string, why: string): never => {
    throw new BoxError('bad_request', `files: ${JSON.stringify(path.slice(0, 100))} ${why}.`, { details: { path } });
  };
  const folders = new Set(paths.flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))));
  for (const path of paths) {
    if (folders.has(path)) refuse(path, 'is both a file and a folder');
    if (/\p{Surrogate}/u.test(path)) refuse(path, 'is not text');
    if (path.split('/').some((part) => Buffer.byteLength(part) > 255)) refuse(path, 'has a part longer than 255 bytes');
  }
}

function limitsFor(definition: Skill['definition'], request: ExecutionRequest, config: Config): RunLimits {
  const asked = request.timeout === undefined ? undefined : parseDuration(request.timeout);
  const memoryBytes = Math.min(definition.memoryBytes ?? config.defaultMemory, config.maxMemory);
  return {
    timeoutMs: Math.min(asked ?? definition.timeoutMs ?? config.defaultTimeout, config.maxTimeout),
    memoryBytes,
    cpu: Math.min(definition.cpu ?? config.defaultCpu, config.maxCpu),
    processes: config.maxProcesses,
    openFiles: config.maxOpenFiles,
    // The work area is memory: it must never be able to eat all of it, or the guest would be the one to go.
    diskBytes: Math.min(config.maxDisk, Math.floor(memoryBytes / 2)),
    logBytes: config.maxLogSize,
    outputBytes: config.maxOutputSize,
    artifacts: config.maxArtifacts,
    artifactBytes: config.maxArtifactSize,
  };
}
