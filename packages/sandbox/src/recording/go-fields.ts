import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * How Kubernetes' Go types write a field of an object: `o` left out when it is empty, `z` left out when it is its zero value, then the Go type as the
 * decoder's errors print it (`o*int32`, `o[]v1.Container`, `v1.PodSpec`). OpenAPI documents do not say so.
 */
export type GoFields = Readonly<Record<string, string>>;

/** Where the sources of a package of OpenAPI names are, inside the folders of the Go modules. */
const MODULES: readonly (readonly [prefix: string, module: string])[] = [
  ['io.k8s.api.', 'k8s.io/api'],
  ['io.k8s.apimachinery.', 'k8s.io/apimachinery'],
  ['io.k8s.apiextensions-apiserver.', 'k8s.io/apiextensions-apiserver'],
  ['io.k8s.kube-aggregator.', 'k8s.io/kube-aggregator'],
];

interface Struct {
  readonly fields: Map<string, string>;
  /** Structs whose fields are written as if they were its own. */
  readonly inline: string[];
}

/** Reads the fields of all structs of a package of OpenAPI names, such as `io.k8s.api.core.v1`; `folderOf` finds a module's folder. */
export function readGoFields(openApiPackage: string, folderOf: (module: string) => string): Map<string, GoFields> {
  const [prefix, module] = MODULES.find(([start]) => openApiPackage.startsWith(start)) ?? [];
  if (prefix === undefined || module === undefined) return new Map();
  const folder = join(folderOf(module), ...openApiPackage.slice(prefix.length).split('.'));
  const version = openApiPackage.split('.').at(-1) ?? '';
  const structs = new Map<string, Struct>();
  for (const file of readdirSync(folder)) {
    if (file.endsWith('.go') && !file.endsWith('_test.go') && !file.startsWith('zz_') && file !== 'generated.pb.go') {
      readStructs(readFileSync(join(folder, file), 'utf8'), version, structs);
    }
  }
  const whole = (name: string): Map<string, string> => {
    const own = structs.get(name);
    const all = new Map(own?.fields);
    for (const other of own?.inline ?? []) for (const [field, type] of whole(other)) all.set(field, type);
    return all;
  };
  return new Map([...structs.keys()].map((name) => [name, Object.fromEntries(whole(name))]));
}

function readStructs(source: string, version: string, into: Map<string, Struct>): void {
  for (const [, name = '', body = ''] of source.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    const struct: Struct = { fields: new Map(), inline: [] };
    for (const line of body.split('\n')) {
      const [, type = '', tag = ''] = /^\t(?:\w+\s+)?(\S+)\s+`.*?json:"([^"]*)"/.exec(line) ?? [];
      const [field = '', ...options] = tag.split(',');
      if (options.includes('inline')) struct.inline.push(type.replace(/^\*/, ''));
      else if (field !== '' && field !== '-') {
        const flags = `${options.includes('omitempty') ? 'o' : ''}${options.includes('omitzero') ? 'z' : ''}`;
        struct.fields.set(field, flags + printed(type, version));
      }
    }
    into.set(name, struct);
  }
}

/** A type as Go prints it at run time: packages by their own names, types of the package itself with theirs. */
function printed(type: string, version: string): string {
  return type
    .replaceAll(/\b(?:metav1|corev1|apiv1|v1core|rbacv1)\./g, 'v1.')
    .replaceAll(/(?<![\w.])(?=[A-Z])/g, `${version}.`);
}
