import { skillNamePattern } from '@skillbox/protocol';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { skillOfToolName, toolNameOfSkill } from './tool-name.ts';
import { toolInput } from './tool-schema.ts';

const names = fc.stringMatching(skillNamePattern);

it('is valid for every client, and leads back to the skill or to its hash', () => {
  fc.assert(
    fc.property(names, (name) => {
      const tool = toolNameOfSkill(name);
      expect(tool).toMatch(/^skill_[a-zA-Z0-9_-]{1,58}$/);
      expect([name, undefined]).toContain(skillOfToolName(tool)?.name);
      expect(skillOfToolName(tool)).toBeDefined();
    }),
  );
});

it('keeps plain names as they are', () => {
  expect(toolNameOfSkill('data-analysis')).toBe('skill_data-analysis');
  expect(toolNameOfSkill('a'.repeat(58))).toBe(`skill_${'a'.repeat(58)}`);
});

it('cannot be made to meet the name of another skill', () => {
  const dotted = toolNameOfSkill('a.b');
  expect(dotted).toMatch(/^skill_a_b_[0-9a-f]{12}$/);
  expect(toolNameOfSkill(dotted.slice('skill_'.length))).not.toBe(dotted);
  fc.assert(fc.property(fc.uniqueArray(names, { maxLength: 50 }), (many) => new Set(many.map(toolNameOfSkill)).size === many.length));
});

it('takes marks for headers out of schemas, and leaves fields of that name', () => {
  const { schema } = toolInput({
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, 'x-mcp-header': { type: 'string' } },
  });
  expect(schema.properties).toEqual({ region: { type: 'string' }, 'x-mcp-header': { type: 'string' } });
});

it('asks for an object in every case', () => {
  expect(toolInput(null).schema).toEqual({ type: 'object' });
  expect(toolInput({ properties: {} }).schema).toMatchObject({ type: 'object' });
  expect(toolInput({ type: ['object', 'null'] }).schema).toMatchObject({ type: 'object' });
  const wrapped = toolInput({ type: 'array', items: { $ref: '#/$defs/x' }, $defs: { x: {} } });
  expect(wrapped.schema).toMatchObject({ type: 'object', required: ['input'], properties: { input: { $id: 'skillbox:input' } } });
  expect(wrapped.unwrap({ input: [1] })).toEqual([1]);
});
