/** Threads that check values against schemas which could take long. A thread that is over its time is ended; the server never waits on it. */

import { Worker } from 'node:worker_threads';
import { BoxError } from '@skillbox/protocol';
import type { Options } from 'ajv/dist/2020.js';

export interface WorkerAnswer {
  /** Why the schema cannot be used. */
  readonly problem?: string;
  /** What ajv found; null when the value fits. */
  readonly errors?: unknown;
}

/** Undefined when it took longer than `limitMs`, or more memory than a thread gets. */
export function checkInWorker(schemaText: string, value: unknown, options: Options, limitMs: number): Promise<WorkerAnswer | undefined> {
  if (queue.length >= maxQueue) {
    throw new BoxError('queue_full', 'Too many values wait to be checked against their schemas.', { retryAfter: 1 });
  }
  return new Promise((resolve, reject) => {
    queue.push({ schemaText, value, options, limitMs, resolve, reject });
    dispatch();
  });
}

interface Task {
  readonly schemaText: string;
  readonly value: unknown;
  readonly options: Options;
  readonly limitMs: number;
  readonly resolve: (answer: WorkerAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const maxThreads = 2;
const maxQueue = 64;
const queue: Task[] = [];
const idle: Worker[] = [];
let running = 0;

/**
 * Source as text: the same in the checkout and in the bundle, and no loader has to know TypeScript in a thread.
 * ajv is found from this file, so it must stay outside the bundle.
 */
const source = `
const { parentPort, workerData } = require('node:worker_threads');
const load = require('node:module').createRequire(workerData.base);
const { Ajv2020 } = load('ajv/dist/2020.js');
const addFormats = load('ajv-formats');
const compiled = new Map();
const ajv = addFormats(new Ajv2020(workerData.options));
// The first schema makes ajv compile the meta-schema; that is nobody's time limit.
ajv.compile({ type: 'null' });
parentPort.on('message', ({ schemaText, value }) => {
  let check = compiled.get(schemaText);
  if (!check) {
    const schema = JSON.parse(schemaText);
    try {
      check = ajv.compile(schema);
    } catch (error) {
      parentPort.postMessage({ problem: error.message });
      return;
    } finally {
      ajv.removeSchema(schema);
    }
    if (compiled.size >= 64) compiled.delete(compiled.keys().next().value);
    compiled.set(schemaText, check);
  }
  parentPort.postMessage({ errors: check(value) ? null : check.errors.slice(0, 100).map(({ instancePath, message, keyword, params }) => ({ instancePath, message, keyword, params })) });
});
parentPort.postMessage('ready');
`;

function dispatch(): void {
  if (running >= maxThreads) return;
  const task = queue.shift();
  if (!task) return;
  running += 1;
  runTask(task)
    .then(task.resolve, task.reject)
    .finally(() => {
      running -= 1;
      dispatch();
    });
}

async function runTask({ schemaText, value, options, limitMs }: Task): Promise<WorkerAnswer | undefined> {
  const worker = idle.pop() ?? (await startWorker(options));
  worker.ref();
  try {
    // Posting copies the value, and can fail on what cannot be copied: the thread is unharmed then.
    worker.postMessage({ schemaText, value });
  } catch (error) {
    park(worker);
    throw error;
  }
  const answer = await nextMessage(worker, limitMs);
  if (answer === undefined) await worker.terminate();
  else park(worker);
  return answer as WorkerAnswer | undefined;
}

async function startWorker(options: Options): Promise<Worker> {
  const worker = new Worker(source, {
    eval: true,
    workerData: { base: import.meta.url, options },
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
  });
  // A thread that dies later is noticed by whoever waits on it; without a listener it would end the process.
  worker.on('error', () => discard(worker));
  if ((await nextMessage(worker, 30_000)) === undefined) {
    await worker.terminate();
    throw new BoxError('internal', 'The thread that checks schemas did not start.');
  }
  return worker;
}

/** The thread's next message; undefined when the time is over or the thread died. */
function nextMessage(worker: Worker, limitMs: number): Promise<unknown> {
  return new Promise((resolve) => {
    const finish = (message: unknown) => {
      clearTimeout(timer);
      worker.off('message', finish).off('exit', gone).off('error', gone);
      resolve(message);
    };
    const gone = () => finish(undefined);
    const timer = setTimeout(gone, limitMs);
    worker.on('message', finish).on('exit', gone).on('error', gone);
  });
}

/** An idle thread must not keep a command line alive. */
function park(worker: Worker): void {
  worker.unref();
  idle.push(worker);
}

function discard(worker: Worker): void {
  const at = idle.indexOf(worker);
  if (at !== -1) idle.splice(at, 1);
}
