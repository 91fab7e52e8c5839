#!/usr/bin/env node
import { existsSync } from 'node:fs';

const cli = new URL('../dist/cli.js', import.meta.url);
if (existsSync(cli)) {
  await import(cli.href);
} else {
  console.error('Skillbox has not been built yet. Run: make up');
  process.exitCode = 1;
}
