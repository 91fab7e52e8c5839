// Builds the SDK: each module as JavaScript, with its declarations. Types are checked by make check, so this takes a second.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const options = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  isolatedDeclarations: true,
  declaration: true,
  verbatimModuleSyntax: true,
};

mkdirSync(dist, { recursive: true });
const made = new Set();
for (const file of readdirSync(join(root, 'src'))) {
  if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
  const source = readFileSync(join(root, 'src', file), 'utf8');
  const declarations = ts.transpileDeclaration(source, { compilerOptions: options, fileName: file, reportDiagnostics: true });
  for (const { messageText } of declarations.diagnostics ?? [])
    throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  write(file.replace(/\.ts$/, '.js'), ts.transpileModule(source, { compilerOptions: options, fileName: file }).outputText);
  write(file.replace(/\.ts$/, '.d.ts'), declarations.outputText);
}
for (const file of readdirSync(dist)) if (!made.has(file)) rmSync(join(dist, file));

function write(name, text) {
  made.add(name);
  writeFileSync(join(dist, name), text.replace(/((?:from|import\() ?['"]\.\/[\w-]+)\.ts(['"])/g, '$1.js$2'));
}
