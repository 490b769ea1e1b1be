/** Where something is in an object: keys and indices, from the root. */
export type Path = readonly (string | number)[];

/** As the API server writes it in the causes of a 422: `status.history[0].state`; the root is `<nil>`. Keys with dots make it ambiguous, which is why paths are kept as lists. */
export function pathText(path: Path): string {
  if (path.length === 0) return '<nil>';
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : text === '' ? part : `.${part}`;
  return text;
}

/** A place in a schema, where an index has no meaning: `status.history[].state`. */
export function schemaPathText(path: Path): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' || part === '[]' ? '[]' : text === '' ? part : `.${part}`;
  return text === '' ? '<root>' : text;
}
