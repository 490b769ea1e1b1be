/** Where something is in an object: keys and indices, from the root. */
export type Path = readonly (string | number)[];

/** A key that needs no quotes: what most fields are called. */
const PLAIN = /^[A-Za-z_$][\w$-]*$/;

function keyText(key: string, isFirst: boolean): string {
  if (!PLAIN.test(key)) return `[${JSON.stringify(key)}]`;
  return isFirst ? key : `.${key}`;
}

/** As the API server writes it in the causes of a 422, `status.history[0].state`, but for keys that are no plain names: `spec.labels["a.b/c"]`, which the server writes with a dot or without quotes. The root is `<nil>`. */
export function pathText(path: Path): string {
  if (path.length === 0) return '<nil>';
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : keyText(part, at === 0))).join('');
}

/** A place in a schema, where an index has no meaning: `status.history[].state`. */
export function schemaPathText(path: Path): string {
  if (path.length === 0) return '<root>';
  return path
    .map((part, at) => {
      if (typeof part === 'number' || part === '[]') return '[]';
      return part === '*' ? (at === 0 ? part : `.${part}`) : keyText(part, at === 0);
    })
    .join('');
}
