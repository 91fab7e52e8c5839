/** Statements of the hot path, compiled once: Kysely takes longer to build one than SQLite to run it. */

import type { Compilable, CompiledQuery } from 'kysely';

/** Stands in for a value while the statement is compiled. */
class Placeholder {
  constructor(readonly name: string) {}
}

/** `build` gets something that stands for each value; what else it puts into the statement stays in it. */
export function statement<Values extends object, Row>(
  names: readonly (keyof Values & string)[],
  build: (values: Values) => Compilable<Row>,
): (values: Values) => CompiledQuery<Row> {
  let compiled: CompiledQuery<Row> | undefined;
  return (values) => {
    compiled ??= build(Object.fromEntries(names.map((name) => [name, new Placeholder(name)])) as Values).compile();
    const parameters = compiled.parameters.map((value) =>
      value instanceof Placeholder ? (values as Record<string, unknown>)[value.name] : value,
    );
    return { ...compiled, parameters };
  };
}
