/** The engine's address, and what its refusals mean to us. */

import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import Dockerode, { type Container, type ContainerCreateOptions, type DockerOptions } from 'dockerode';

/** A socket on this machine, or the address of a proxy on it that guards one. */
export type EngineAddress = { readonly socket: string } | { readonly host: string };
/** One that is reached through connections of our own. */
export interface FarEngine {
  readonly agent: Agent;
  readonly name: string;
}

export interface Engine {
  readonly docker: Dockerode;
  readonly address: string;
  /** Its failures in our words. `lost`: what to say when the engine does not know what was asked for. */
  ask<T>(work: Promise<T>, lost?: string): Promise<T>;
  createContainer(name: string, options: ContainerCreateOptions): Promise<Container>;
  /** What it says of itself, within a few seconds. */
  look(): Promise<EngineInfo>;
  /** Of its host: it refuses a limit above them. */
  processors(): Promise<number>;
  /** Throws image_unsupported for one that it does not have: nothing is pulled. */
  requireImage(image: string): Promise<void>;
}

export interface EngineInfo {
  readonly ServerVersion: string;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
  readonly SecurityOptions?: readonly string[];
}

const lookLimitMs = 5000;

export function openEngine(options: EngineAddress | FarEngine): Engine {
  const { docker, address } = connectionOf(options);
  const ask = async <T>(work: Promise<T>, lost?: string): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw translate(error, address, lost);
    }
  };
  let known: Promise<number> | undefined;
  return {
    docker,
    address,
    ask,
    look: () => Promise.race([ask(docker.info() as Promise<EngineInfo>), tooLate()]),
    processors() {
      known ??= ask(docker.info()).then(({ NCPU }) => NCPU as number);
      known.catch(() => {
        known = undefined;
      });
      return known;
    },
    async requireImage(image) {
      try {
        await docker.getImage(image).inspect();
      } catch (error) {
        if (statusOf(error) !== 404) await ask(Promise.reject(error));
        throw new BoxError('image_unsupported', `The engine does not have the image ${image}.`, {
          hint: `Run: docker pull ${image}`,
          cause: error,
        });
      }
    },
    // Left to itself, dockerode writes all options into the address too, which proxies refuse for its length.
    createContainer: (name, body) => ask(docker.createContainer({ _query: { name }, _body: body } as ContainerCreateOptions)),
  };
}

/** The status of an engine's refusal; some are no failure, such as stopping what has stopped. */
export function statusOf(error: unknown): number | undefined {
  const cause = error instanceof BoxError ? error.cause : error;
  return (cause as { statusCode?: number } | undefined)?.statusCode;
}

async function tooLate(): Promise<never> {
  await sleep(lookLimitMs, undefined, { ref: false });
  throw new BoxError('unavailable', 'The Docker engine takes too long to answer.');
}

function connectionOf(options: EngineAddress | FarEngine): { docker: Dockerode; address: string } {
  if ('agent' in options) {
    // The types lack the agent, which only those of its sub-library have.
    const through = { protocol: 'http', host: 'engine', port: 80, agent: options.agent } as const;
    return { docker: new Dockerode(through as DockerOptions), address: options.name };
  }
  if ('socket' in options) return { docker: new Dockerode({ socketPath: options.socket }), address: `unix://${options.socket}` };
  const url = URL.canParse(options.host) ? new URL(options.host) : undefined;
  if (url?.protocol !== 'tcp:' && url?.protocol !== 'http:') {
    throw new BoxError('config_invalid', `${options.host} is not the address of a Docker engine.`, {
      hint: 'Write tcp://127.0.0.1:2375, or give the path of a socket.',
    });
  }
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) {
    throw new BoxError('config_invalid', `A Docker engine on another machine (${options.host}) is not supported.`, {
      hint: 'Sandboxes are reached through files of this machine: use the engine here, by its socket or a proxy on loopback.',
    });
  }
  const host = url.hostname.replace(/[[\]]/g, '');
  return { docker: new Dockerode({ protocol: 'http', host, port: Number(url.port || 2375) }), address: options.host };
}

function translate(cause: unknown, address: string, lost?: string): unknown {
  if (cause instanceof BoxError) return cause;
  const { code, statusCode, message } = cause as { code?: string; statusCode?: number; message?: string };
  if (statusCode === undefined) {
    if (!code) return cause;
    return new BoxError('unavailable', `The Docker engine at ${address} does not answer: ${message}`, {
      cause,
      hint: 'Start it, or let the user of the box use its socket.',
    });
  }
  if (statusCode === 404 && lost) return new BoxError('not_found', lost, { cause });
  return new BoxError(statusCode === 400 ? 'bad_request' : 'sandbox_failed', `The Docker engine refused: ${message}`, { cause });
}
