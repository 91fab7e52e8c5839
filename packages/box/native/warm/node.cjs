/* Holds a started Node until its job comes; then Node goes on to the entrypoint by itself, as ever. It leaves nothing behind. */
'use strict';
const fs = require('node:fs');

const line = 3;
// Made on first use otherwise, which costs milliseconds.
void process.stdout;
void process.stderr;
/*
 * Taking the engine apart takes longer than most jobs. So once every listener has heard that the process ends by itself and in order,
 * it ends at once; with a foreign library, which may have something to do then, as with process.exit(). With a code, or after an
 * exception, which is still to be shown, it ends as ever.
 */
const { emit } = require('node:events').prototype;
const { _cache: cache } = require('node:module');
const endInOrder = process.reallyExit.bind(process, 0);
let endAtOnce = endInOrder;
try {
  const library = { exports: {} };
  process.dlopen(library, `${__dirname}/end.node`);
  endAtOnce = library.exports;
} catch {
  // A Node that cannot load it: its end takes a little longer.
}
const end = () => (Object.keys(cache).some((file) => file.endsWith('.node')) ? endInOrder() : endAtOnce());
Object.defineProperty(Object.getPrototypeOf(process), 'emit', {
  configurable: true,
  writable: true,
  value: function emitThenEnd(name, ...rest) {
    const heard = Reflect.apply(emit, this, [name, ...rest]);
    if (name === 'exit' && this === process && process._exiting && !rest[0] && !process.exitCode) end();
    return heard;
  },
});

// What the skill asks for is found as its own code finds it.
const load = require('node:module').createRequire('/sandbox/scripts/');
for (const name of (process.env.SKILLBOX_MODULES || '').split(',').filter(Boolean)) {
  try {
    load(name);
  } catch {
    // The entrypoint loads it again and tells whoever reads its log.
  }
}

// Node's way to an entrypoint, and what nearly every job does, is slow the first time. It goes there once, to a module that does nothing.
const nothing = `${__dirname}/nothing.cjs`;
require('node:module').runMain(nothing);
delete cache[nothing];
delete process.mainModule;
fs.writeFileSync('/dev/null', '');
fs.writeSync(line, 'R');

function read(count) {
  const bytes = Buffer.allocUnsafe(count);
  for (let at = 0; at < count; ) {
    const got = fs.readSync(line, bytes, at, count - at);
    // The sandbox is thrown away unused.
    if (got === 0) process.exit(0);
    at += got;
  }
  return bytes;
}

const job = read(read(4).readUInt32LE(0));
fs.closeSync(line);
for (const name of Object.keys(process.env)) delete process.env[name];
for (const variable of job.toString().split('\0').slice(0, -1)) {
  const at = variable.indexOf('=');
  process.env[variable.slice(0, at)] = variable.slice(at + 1);
}
delete require.cache[__filename];
