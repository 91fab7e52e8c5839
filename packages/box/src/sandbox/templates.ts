/** Templates by name: built in, declared in the manifest, or made over the API, where each change is a new version. */

import { BoxError, type Template } from '@skillbox/protocol';
import { schemaProblem } from '../json-schema/schema.ts';
import type { Database } from '../store/database.ts';
import { builtInTemplates } from './built-in-templates.ts';
import { workspaceName, workspaceTemplate } from './workspace/template.ts';

export interface Templates {
  /** `name` is the newest, `name@2` that one. */
  resolve(name: string): Promise<Template>;
  /** The newest of each, by name. */
  list(): Promise<Template[]>;
  /** Throws declared_in_manifest for what is built in or declared. */
  apply(template: Template, createdBy: string): Promise<Template>;
}

const attempts = 5;

export function createTemplates(database: Database, declared: readonly Template[], workspace: Template = workspaceTemplate()): Templates {
  const { kysely } = database;
  // The last of a name counts: nothing that is declared stands in the place of the workspace.
  const fixed = new Map([...builtInTemplates, ...declared, workspace].map((template) => [template.name, template]));

  const refuseFixed = (name: string): void => {
    const source = fixed.get(name)?.source;
    if (source === undefined) return;
    const built = source === 'built-in';
    throw new BoxError('declared_in_manifest', `The template ${name} is ${built ? 'built in' : 'declared in the manifest'}.`, {
      ...(built && {
        hint:
          name === workspaceName
            ? 'Choose another name. What the workspace may do is said in skillbox.yaml, under workspace.'
            : 'Choose another name, or declare it in skillbox.yaml, which may replace what is built in.',
      }),
    });
  };

  return {
    async resolve(text) {
      const [name = '', version] = text.split('@');
      const own = fixed.get(name);
      if (own) {
        if (version === undefined || Number(version) === own.version) return own;
        throw missing(text);
      }
      let query = kysely.selectFrom('templates').select('definition').where('name', '=', name);
      if (version !== undefined) query = query.where('version', '=', Number(version));
      const row = await query.orderBy('version', 'desc').executeTakeFirst();
      if (!row) throw missing(text);
      return JSON.parse(row.definition) as Template;
    },

    async list() {
      const rows = await kysely.selectFrom('templates').select(['name', 'definition']).orderBy('name').orderBy('version').execute();
      // Later ones replace earlier ones, and what is fixed hides what was made before it was.
      const all = new Map(rows.map(({ name, definition }) => [name, JSON.parse(definition) as Template]));
      for (const [name, template] of fixed) all.set(name, template);
      return [...all.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
    },

    async apply(template, createdBy) {
      refuseFixed(template.name);
      const problem = template.inputs === null ? undefined : await schemaProblem(template.inputs);
      if (problem) throw new BoxError('invalid_template', `/inputs: the JSON Schema ${problem.message}.`);
      for (let attempt = 1; ; attempt += 1) {
        const newest = await kysely
          .selectFrom('templates')
          .select(({ fn }) => fn.max('version').as('version'))
          .where('name', '=', template.name)
          .executeTakeFirst();
        const made: Template = { ...template, version: (newest?.version ?? 0) + 1, source: 'api' };
        const row = {
          name: made.name,
          version: made.version,
          definition: JSON.stringify(made),
          created_at: new Date().toISOString(),
          created_by: createdBy,
        };
        const { numInsertedOrUpdatedRows } = await kysely
          .insertInto('templates')
          .values(row)
          .onConflict((conflict) => conflict.columns(['name', 'version']).doNothing())
          .executeTakeFirst();
        if (Number(numInsertedOrUpdatedRows) > 0) return made;
        // Somebody else made this version meanwhile: ours is the one after it.
        if (attempt === attempts) throw new BoxError('version_conflict', `The template ${template.name} is being changed by others.`);
      }
    },
  };
}

function missing(name: string): BoxError {
  return new BoxError('template_not_found', `There is no template ${name}.`);
}
