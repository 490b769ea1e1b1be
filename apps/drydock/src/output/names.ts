/** A set as `status` names it (`ms/a`, `namespace/capi-md/a`), as the object that kubectl takes and that says all of it: `bootimage.drydock.dev/ms-a`. */
export function imageOfSet(set: string): string {
  return `bootimage.drydock.dev/${set.split('/').slice(-2).join('-')}`;
}

/** A definition, as kubectl takes it. */
export function definitionName(crd: string): string {
  return `customresourcedefinition.apiextensions.k8s.io/${crd}`;
}

/** An object, as kubectl takes it; the core group has no name. */
export function objectName({
  group = '',
  kind,
  name,
}: {
  readonly group?: string;
  readonly kind: string;
  readonly name: string;
}): string {
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}`;
}
