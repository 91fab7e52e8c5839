import { BoxError, type Template } from '@skillbox/protocol';
import { validateAgainst } from '../json-schema/schema.ts';

/** A template without a schema asks for nothing: then anything given is a mistake. */
export async function checkInputs({ name, inputs: schema }: Template, inputs: Readonly<Record<string, unknown>>): Promise<void> {
  const [first] = Object.keys(inputs);
  if (schema === null) {
    if (first === undefined) return;
    throw new BoxError('invalid_input', `The template ${name} takes no inputs; ${JSON.stringify(first)} was given.`, { hint });
  }
  const errors = await validateAgainst(schema, inputs);
  if (!errors) return;
  const [fault] = errors;
  throw new BoxError('invalid_input', `The inputs do not fit template ${name}: ${fault ? `${fault.path || '/'} ${fault.message}` : ''}`, {
    details: { errors },
    hint,
  });
}

const hint = 'See what the template asks for: skillbox template show NAME.';
