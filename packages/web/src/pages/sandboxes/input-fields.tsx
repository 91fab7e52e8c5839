/** What a template asks for: a field for each simple property of its schema, and JSON for the rest. */

import { type ControlProps, Field } from '../../parts/field.tsx';

type Kind = 'text' | 'number' | 'flag' | 'choice' | 'json';

export interface InputField {
  readonly name: string;
  readonly kind: Kind;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly choices: readonly string[];
}

export type Inputs = Readonly<Record<string, string>>;

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly description?: string;
}

export function fieldsOf(schema: Record<string, unknown> | null): InputField[] {
  const properties = (schema?.properties ?? {}) as Record<string, Property>;
  const required = Array.isArray(schema?.required) ? schema.required : [];
  return Object.entries(properties).map(([name, property]) => ({
    name,
    kind: kindOf(property),
    required: required.includes(name),
    description: typeof property.description === 'string' ? property.description : undefined,
    choices: (property.enum ?? []).filter((each) => typeof each === 'string'),
  }));
}

function kindOf({ type, enum: choices }: Property): Kind {
  if (choices?.length && choices.every((each) => typeof each === 'string')) return 'choice';
  if (type === 'string') return 'text';
  if (type === 'number' || type === 'integer') return 'number';
  return type === 'boolean' ? 'flag' : 'json';
}

/** What is left empty is not given. */
export function inputsFrom(
  fields: readonly InputField[],
  texts: Inputs,
): { readonly values: Record<string, unknown>; readonly problem?: string } {
  const values: Record<string, unknown> = {};
  for (const { name, kind, required } of fields) {
    const text = texts[name] ?? '';
    if (text === '') {
      if (required) return { values, problem: `${name} is needed.` };
    } else if (kind === 'number') values[name] = Number(text);
    else if (kind === 'flag') values[name] = text === 'true';
    else if (kind === 'json') {
      try {
        values[name] = JSON.parse(text);
      } catch {
        return { values, problem: `${name} is not JSON.` };
      }
    } else values[name] = text;
  }
  return { values };
}

interface Props {
  readonly fields: readonly InputField[];
  readonly values: Inputs;
  readonly problem: string | undefined;
  onChange(values: Inputs): void;
}

export function InputFields({ fields, values, problem, onChange }: Props) {
  return fields.map((field) => (
    <Field
      key={field.name}
      label={field.required ? field.name : `${field.name} (optional)`}
      hint={field.description}
      problem={problem?.startsWith(`${field.name} `) && values[field.name] !== undefined ? problem : undefined}
    >
      {(control) => (
        <Control
          control={control}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => onChange({ ...values, [field.name]: value })}
        />
      )}
    </Field>
  ));
}

function Control({
  control,
  field,
  value,
  onChange,
}: {
  readonly control: ControlProps;
  readonly field: InputField;
  readonly value: string;
  onChange(value: string): void;
}) {
  const choices = field.kind === 'flag' ? ['true', 'false'] : field.choices;
  if (field.kind === 'json')
    return <textarea {...control} className="input code" rows={3} value={value} onChange={(event) => onChange(event.target.value)} />;
  if (field.kind === 'text' || field.kind === 'number')
    return (
      <input
        {...control}
        className="input"
        type={field.kind === 'number' ? 'number' : 'text'}
        step="any"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  return (
    <select {...control} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">–</option>
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}
