import { BoxError, page, template, templateName } from '@skillbox/protocol';
import { z } from 'zod';
import { templateFields, templatePattern, templateProblems, toTemplate } from '../sandbox/template-definition.ts';
import { command } from './command.ts';

export const templateCommands = [
  command({
    name: 'template.list',
    summary: 'List templates of sandboxes, the newest version of each',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: page(template) },
    http: { method: 'GET', path: '/v1/templates' },
    cli: { words: 'template list', examples: ['skillbox template list'] },
    run: async ({ box }) => ({ items: await box.templates.list(), next_cursor: null }),
  }),

  command({
    name: 'template.show',
    summary: 'Show a template',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({ name: templateName }),
    output: { kind: 'json', schema: template },
    http: { method: 'GET', path: '/v1/templates/:name' },
    cli: { words: 'template show', args: ['name'], examples: ['skillbox template show python', 'skillbox template show python@1 --json'] },
    run: ({ box }, { name }) => box.templates.resolve(name),
  }),

  command({
    name: 'template.apply',
    summary: 'Make a template, or a new version of it',
    description: 'Sandboxes keep the version they were made from. What is built in or declared in the manifest cannot be changed here.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({
      name: z.string().regex(templatePattern, 'lower-case letters, digits and dashes, up to 63'),
      ...templateFields,
    }),
    output: { kind: 'json', schema: template },
    http: { method: 'PUT', path: '/v1/templates/:name' },
    cli: {
      words: 'template apply',
      args: ['file'],
      polished: true,
      examples: ['skillbox template apply template.yaml', 'skillbox template apply template.yaml --dry-run'],
    },
    async run({ box, caller }, { name, ...definition }) {
      const [problem] = templateProblems(definition);
      if (problem) throw new BoxError('invalid_template', `/${problem.path.join('/')}: ${problem.message}.`);
      return box.templates.apply(toTemplate(name, 1, 'api', definition), caller.actor.id);
    },
  }),
];
