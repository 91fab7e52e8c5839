/** A form made from a JSON Schema. Names and descriptions come from the skill's author: they are text, never more. */

import { useId } from 'react';
import { Button } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { type Draft, draftOf, pointer } from './draft.ts';
import type { Shape } from './schema-shape.ts';

interface Props {
  readonly shape: Shape;
  readonly draft: Draft;
  readonly name: string;
  readonly required: boolean;
  readonly path: string;
  readonly problems: Readonly<Record<string, string>>;
  onChange(draft: Draft): void;
}

export function SchemaFields(props: Props) {
  const { shape } = props;
  if (shape.kind === 'group') return <Group {...props} shape={shape} />;
  if (shape.kind === 'list') return <List {...props} shape={shape} />;
  return <Leaf {...props} />;
}

function Group({ shape, draft, name, required, path, problems, onChange }: Props & { readonly shape: Extract<Shape, { kind: 'group' }> }) {
  const drafts = (typeof draft === 'object' && !Array.isArray(draft) ? draft : {}) as Record<string, Draft>;
  const inside = shape.fields.map((field) => (
    <SchemaFields
      key={field.name}
      shape={field.shape}
      draft={drafts[field.name]}
      name={field.name}
      required={field.required}
      path={pointer(path, field.name)}
      problems={problems}
      onChange={(next) => onChange({ ...drafts, [field.name]: next })}
    />
  ));
  // The outermost is the form itself.
  if (path === '') return <>{inside}</>;
  return (
    <fieldset className="group">
      <legend>{nameOf(shape, name, required)}</legend>
      {shape.description && <span className="hint">{shape.description}</span>}
      {inside}
      {problems[path] && <span className="problem">{problems[path]}</span>}
    </fieldset>
  );
}

function List({ shape, draft, name, required, path, problems, onChange }: Props & { readonly shape: Extract<Shape, { kind: 'list' }> }) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  const id = useId();
  return (
    <fieldset className="group" aria-describedby={problems[path] ? id : undefined}>
      <legend>{nameOf(shape, name, required)}</legend>
      {shape.description && <span className="hint">{shape.description}</span>}
      {items.map((item, at) => (
        <div key={at} className="list-item">
          <SchemaFields
            shape={shape.item}
            draft={item}
            name={`${name} ${at + 1}`}
            required
            path={`${path}/${at}`}
            problems={problems}
            onChange={(next) => onChange(items.with(at, next))}
          />
          <Button kind="quiet" icon="trash" label={`Remove ${name} ${at + 1}`} onClick={() => onChange(items.toSpliced(at, 1))} />
        </div>
      ))}
      <div>
        <Button icon="plus" disabled={items.length >= shape.most} onClick={() => onChange([...items, draftOf(shape.item)])}>
          Add to {name}
        </Button>
      </div>
      {problems[path] && (
        <span className="problem" id={id}>
          {problems[path]}
        </span>
      )}
    </fieldset>
  );
}

function Leaf({ shape, draft, name, required, path, problems, onChange }: Props) {
  const text = typeof draft === 'string' ? draft : '';
  const common = { className: 'input', value: text, onChange: (event: { target: { value: string } }) => onChange(event.target.value) };
  if (shape.kind === 'flag' && (required || typeof shape.start === 'boolean')) {
    return (
      <div className="field">
        <label className="tick">
          <input type="checkbox" checked={draft === true} onChange={(event) => onChange(event.target.checked)} />
          {nameOf(shape, name, false)}
        </label>
        {shape.description && <span className="hint">{shape.description}</span>}
        {problems[path] && <span className="problem">{problems[path]}</span>}
      </div>
    );
  }
  return (
    <Field label={nameOf(shape, name, required)} hint={shape.description} problem={problems[path]}>
      {(control) => {
        switch (shape.kind) {
          case 'choice':
            return (
              <select {...control} {...common}>
                <option value="">–</option>
                {shape.options.map((option, at) => (
                  <option key={at} value={at}>
                    {typeof option === 'string' ? option : JSON.stringify(option)}
                  </option>
                ))}
              </select>
            );
          case 'flag':
            return (
              <select
                {...control}
                className="input"
                value={draft === undefined ? '' : String(draft)}
                onChange={({ target }) => onChange(target.value === '' ? undefined : target.value === 'true')}
              >
                <option value="">–</option>
                <option value="true">true</option>
                <option value="false">false</option>
              </select>
            );
          case 'number':
            return <input {...control} {...common} inputMode={shape.whole ? 'numeric' : 'decimal'} autoComplete="off" />;
          case 'json':
            return <textarea {...control} {...common} className="input code" rows={3} spellCheck={false} placeholder="JSON" />;
          default:
            return shape.kind === 'text' && shape.long ? (
              <textarea {...control} {...common} className="input grows" rows={1} />
            ) : (
              <input {...control} {...common} autoComplete="off" />
            );
        }
      }}
    </Field>
  );
}

function nameOf(shape: Shape, name: string, required: boolean) {
  return (
    <>
      {shape.title ?? name}
      {required && <span className="needed"> (needed)</span>}
    </>
  );
}
