import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { lintFinding, page, pageQuery, skillDependencies, skillDetail, skillName, skillSummary, versionOrLatest } from '@skillbox/protocol';
import { z } from 'zod';
import { command, Reply } from './command.ts';

const pushed = skillDetail
  .extend({ created: z.boolean().describe('false when exactly this content was there already'), warnings: z.array(lintFinding) })
  .meta({ id: 'PushedSkill' });
const which = { name: skillName, version: versionOrLatest };
const buildInput = z.object({ name: skillName, version: versionOrLatest.default('latest') });

export const skillCommands = [
  command({
    name: 'skill.push',
    summary: 'Add a skill',
    description:
      'Takes a zip with SKILL.md at its root or one folder down, as the body or as the multipart part `file`. The skill is there whole or not at all. The same content again changes nothing; other content under a version that exists is refused. Dependencies that it declares are installed from now on; the answer does not wait for that.',
    scope: 'skills:write',
    effect: 'change',
    input: z.object({ archive: z.instanceof(Buffer) }),
    output: { kind: 'json', schema: pushed, status: 201 },
    http: { method: 'POST', path: '/v1/skills', upload: true },
    cli: {
      words: 'skill push',
      args: ['path'],
      polished: true,
      examples: ['skillbox skill push ./my-skill', 'skillbox skill push my-skill.zip --json'],
    },
    async run({ box, caller }, { archive }) {
      const { skill, created, warnings } = await box.catalog.push(caller, archive);
      const location = `/v1/skills/${encodeURIComponent(skill.name)}/${skill.version}`;
      return new Reply({ ...skill, created, warnings }, { status: created ? 201 : 200, headers: { Location: location } });
    },
  }),

  command({
    name: 'skill.list',
    summary: 'List skills, each in its latest version',
    scope: 'skills:read',
    effect: 'read',
    input: z.object(pageQuery),
    output: { kind: 'json', schema: page(skillSummary) },
    http: { method: 'GET', path: '/v1/skills' },
    cli: { words: 'skill list', examples: ['skillbox skill list', 'skillbox skill list --json'] },
    run: ({ box, caller }, { limit, cursor }) => box.catalog.list(caller.tenant, { limit, cursor }),
  }),

  command({
    name: 'skill.search',
    summary: 'Find skills by words in name, description and instructions',
    scope: 'skills:read',
    effect: 'read',
    input: z.object({ q: z.string().min(1).max(200).describe('Words to look for'), limit: pageQuery.limit }),
    output: { kind: 'json', schema: page(skillSummary) },
    http: { method: 'GET', path: '/v1/skills/search' },
    cli: { words: 'skill search', args: ['q'], examples: ['skillbox skill search "summarise text"'] },
    run: async ({ box, caller }, { q, limit }) => ({ items: await box.catalog.search(caller.tenant, q, limit), next_cursor: null }),
  }),

  command({
    name: 'skill.versions',
    summary: 'List the versions of a skill, highest first',
    scope: 'skills:read',
    effect: 'read',
    input: z.object({ name: skillName }),
    output: { kind: 'json', schema: page(skillSummary) },
    http: { method: 'GET', path: '/v1/skills/:name/versions' },
    cli: { words: 'skill versions', args: ['name'], examples: ['skillbox skill versions data-analysis'] },
    run: async ({ box, caller }, { name }) => ({ items: await box.catalog.versions(caller.tenant, name), next_cursor: null }),
  }),

  command({
    name: 'skill.show',
    summary: 'Show one skill with its instructions and schemas',
    scope: 'skills:read',
    effect: 'read',
    input: z.object({ name: skillName, version: versionOrLatest.default('latest') }),
    output: { kind: 'json', schema: skillDetail },
    http: { method: 'GET', path: '/v1/skills/:name/:version' },
    cli: {
      words: 'skill show',
      args: ['name'],
      examples: ['skillbox skill show data-analysis', 'skillbox skill show data-analysis --version 1.0.0 --json'],
    },
    run: ({ box, caller }, { name, version }) => box.catalog.show(caller.tenant, name, version),
  }),

  command({
    name: 'skill.file',
    summary: 'Read one file of a skill, as it was pushed',
    description: 'The record of the skill lists them.',
    scope: 'skills:read',
    effect: 'read',
    input: z.object({ ...which, path: z.string().min(1).max(4096).describe('Path of the file inside the skill') }),
    output: { kind: 'bytes', contentType: 'application/octet-stream' },
    http: { method: 'GET', path: '/v1/skills/:name/:version/files/:path*' },
    async run({ box, caller }, { name, version, path }) {
      const data = await box.catalog.file(caller.tenant, name, version, path);
      const shown = posix.basename(path).replace(/[^\w.-]/g, '_');
      const headers = { 'Content-Length': String(data.length), 'Content-Disposition': `attachment; filename="${shown}"` };
      return new Reply(Readable.from([data]), { headers });
    },
  }),

  command({
    name: 'skill.build',
    summary: 'Install the dependencies of a skill, once more if that failed',
    description:
      'A push starts it by itself. What is installed already, or being installed, is left alone. Answers at once; skill show and the build log tell how it goes.',
    scope: 'skills:write',
    effect: 'change',
    input: buildInput,
    output: { kind: 'json', schema: skillDependencies, accepted: skillDependencies },
    http: { method: 'POST', path: '/v1/skills/:name/:version/build' },
    cli: { words: 'skill build', args: ['name'], polished: true, examples: ['skillbox skill build data-analysis'] },
    async run({ box, caller }, { name, version }) {
      const skill = await box.catalog.resolve(caller.tenant, name, version);
      const dependencies = await box.dependencies.retry(skill, caller.actor);
      return new Reply(dependencies, { status: dependencies.state === 'building' ? 202 : 200 });
    },
  }),

  command({
    name: 'skill.build-log',
    summary: 'Read what the installer said about the dependencies of a skill',
    scope: 'skills:read',
    effect: 'read',
    input: buildInput,
    output: { kind: 'text' },
    http: { method: 'GET', path: '/v1/skills/:name/:version/build' },
    cli: {
      words: 'skill build-log',
      args: ['name'],
      examples: ['skillbox skill build-log data-analysis', 'skillbox skill build-log data-analysis --version 1.0.0'],
    },
    run: async ({ box, caller }, { name, version }) => box.dependencies.log(await box.catalog.resolve(caller.tenant, name, version)),
  }),

  command({
    name: 'skill.delete',
    summary: 'Delete one version of a skill',
    description: 'Records of its executions stay.',
    scope: 'skills:write',
    effect: 'change',
    audited: true,
    input: z.object(which),
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/skills/:name/:version' },
    cli: { words: 'skill delete', args: ['name', 'version'], examples: ['skillbox skill delete data-analysis 1.0.0'] },
    run: ({ box, caller }, { name, version }) => box.catalog.remove(caller, name, version),
  }),
];
