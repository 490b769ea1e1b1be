import { parse } from 'yaml';

/** How the types of one CRD are written. */
export interface GenerateOptions {
  /** Which of the CRD's versions. */
  readonly version: string;
  /** Whether descriptions become doc comments. */
  readonly descriptions: boolean;
  /** Module that exports `ObjectMeta` and `Resource`, as the generated file imports it. Default `./meta.ts`. */
  readonly meta?: string;
}

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
}

interface CrdVersion {
  readonly name: string;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
}

interface Crd {
  readonly metadata?: { readonly name?: string };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly CrdVersion[];
  };
}

/**
 * TypeScript of one version of a CRD: an interface per object in its structural schema, all `readonly`, and a `Resource`
 * constant of the kind's name. Enums become unions; in status they stay open (`| (string & {})`), since a newer writer may
 * know more words than we do. Throws `Error` when the YAML is no CRD or lacks the version.
 */
export function generateTypes(crdYaml: string, options: GenerateOptions): string {
  const crd = parse(crdYaml) as Crd | null;
  const version = crd?.spec?.versions?.find((v) => v.name === options.version);
  const schema = version?.schema?.openAPIV3Schema;
  if (crd === null || schema === undefined) {
    const name = crd?.metadata?.name ?? 'the document';
    throw new Error(`${name} has no schema for version ${options.version}; name a version that the CRD lists`);
  }
  const { kind, plural } = crd.spec.names;
  const writer = new Writer(options.descriptions);
  writer.root(kind, schema);
  const meta = options.meta ?? './meta.ts';
  return `// Generated from ${plural}.${crd.spec.group} ${options.version} by \`npm run generate\`. Do not edit.
import type { ObjectMeta, Resource } from '${meta}';

${writer.text()}
/** The kind ${kind} of ${crd.spec.group}/${options.version}. */
export const ${kind}: Resource<${kind}> = {
  group: '${crd.spec.group}',
  version: '${options.version}',
  kind: '${kind}',
  plural: '${plural}',
  scope: '${crd.spec.scope}',
};
`;
}

class Writer {
  readonly #descriptions: boolean;
  readonly #interfaces: string[] = [];
  readonly #names = new Set<string>();

  constructor(descriptions: boolean) {
    this.#descriptions = descriptions;
  }

  text(): string {
    return this.#interfaces.join('\n');
  }

  root(kind: string, schema: Schema): void {
    this.#names.add(kind);
    const slot = this.#interfaces.push('') - 1;
    const lines = ['  readonly apiVersion?: string;', '  readonly kind?: string;', '  readonly metadata: ObjectMeta;'];
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (name === 'apiVersion' || name === 'kind' || name === 'metadata') continue;
      lines.push(...this.#field(kind, name, property, schema, name === 'status'));
    }
    this.#interfaces[slot] = this.#declaration(kind, schema, lines);
  }

  #declaration(name: string, schema: Schema, lines: readonly string[]): string {
    const doc = this.#doc(schema.description, '') ?? [];
    return [...doc, `export interface ${name} {`, ...lines, '}', ''].join('\n');
  }

  #field(owner: string, name: string, property: Schema, parent: Schema, open: boolean): string[] {
    const optional = parent.required?.includes(name) === true ? '' : '?';
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
    const type = this.#type(owner + pascal(name), property, open);
    return [...(this.#doc(property.description, '  ') ?? []), `  readonly ${key}${optional}: ${type};`];
  }

  #type(name: string, schema: Schema, open: boolean): string {
    const type = this.#bare(name, schema, open);
    return schema.nullable === true ? `${type} | null` : type;
  }

  #bare(name: string, schema: Schema, open: boolean): string {
    if (schema['x-kubernetes-int-or-string'] === true) return 'number | string';
    if (schema.enum !== undefined && schema.enum.length > 0) {
      const words = schema.enum.map((word) => (typeof word === 'string' ? quote(word) : JSON.stringify(word)));
      return open && schema.type === 'string' ? `${words.join(' | ')} | (string & {})` : words.join(' | ');
    }
    switch (schema.type) {
      case 'string':
        return 'string';
      case 'integer':
      case 'number':
        return 'number';
      case 'boolean':
        return 'boolean';
      case 'array':
        return this.#list(this.#type(singular(name), schema.items ?? {}, open));
      case 'object':
        return this.#object(name, schema, open);
      default:
        return 'unknown';
    }
  }

  #list(item: string): string {
    return item.includes(' ') && !item.startsWith('Readonly<') ? `readonly (${item})[]` : `readonly ${item}[]`;
  }

  #object(wanted: string, schema: Schema, open: boolean): string {
    const properties = Object.entries(schema.properties ?? {});
    if (properties.length === 0) {
      const values = schema.additionalProperties;
      const value = typeof values === 'object' ? this.#type(singular(wanted), values, open) : 'unknown';
      return `Readonly<Record<string, ${value}>>`;
    }
    const name = this.#unique(wanted);
    const slot = this.#interfaces.push('') - 1;
    const lines = properties.flatMap(([key, property]) => this.#field(name, key, property, schema, open));
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) lines.push('  readonly [key: string]: unknown;');
    this.#interfaces[slot] = this.#declaration(name, schema, lines);
    return name;
  }

  #unique(wanted: string): string {
    let name = wanted;
    for (let n = 2; this.#names.has(name); n++) name = `${wanted}${n}`;
    this.#names.add(name);
    return name;
  }

  #doc(text: string | undefined, indent: string): string[] | undefined {
    if (!this.#descriptions || text === undefined) return undefined;
    const lines = wrap(text.replaceAll('*/', '*\\/'), 116 - indent.length);
    if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
    return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
  }
}

function quote(word: string): string {
  return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function pascal(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** Items of `conditions` are a `Condition`: good enough for type names, and never wrong in meaning. */
function singular(name: string): string {
  if (name.endsWith('ies')) return `${name.slice(0, -3)}y`;
  if (name.endsWith('sses')) return name.slice(0, -2);
  return name.endsWith('s') && !name.endsWith('ss') && !name.endsWith('us') ? name.slice(0, -1) : `${name}Item`;
}

function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}
