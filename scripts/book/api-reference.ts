import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../command.ts';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const INTRODUCTION = `<!-- Written by npm run generate from api/crds. Do not edit. -->

# API reference

The kinds of \`drydock.dev\`, field by field, from their definitions (\`api/crds\`). All fields of a status are optional, its strings are free, and its lists are maps or sets: an older definition refuses nothing that a newer
operator wrote. \`kubectl explain bootimage.spec\` says the same of the definitions that your cluster has. What they do: [way back](way-back.md), [policies](policies.md), [releases](release.md).
`;

/** The page on all fields of our kinds, as Markdown. */
export function apiReference(): string {
  const files = globSync('api/crds/*.yaml', { cwd: root }).sort();
  const kinds = files.map((file) => kindText(parse(readFileSync(join(root, file), 'utf8')) as Crd));
  return `${INTRODUCTION}\n${kinds.join('\n')}`;
}

function kindText({ spec: { group, names, scope, versions } }: Crd): string {
  const short = names.shortNames === undefined ? '' : `, \`kubectl get ${names.shortNames.join('`, `kubectl get ')}\``;
  return versions
    .map(({ name, schema: { openAPIV3Schema: schema } }) => {
      const parts = ['spec', 'status'].flatMap((part) => {
        const found = schema.properties?.[part];
        return found === undefined
          ? []
          : [`### ${names.kind} ${part}\n\n${oneLine(found.description)}\n\n${table(part, found)}`];
      });
      const where = scope === 'Cluster' ? 'It belongs to no namespace.' : 'It belongs to a namespace.';
      return `## ${names.kind}\n\n\`${group}/${name}\`, \`${names.plural}.${group}\`${short}. ${where}\n\n${oneLine(schema.description)}\n\n${parts.join('\n')}`;
    })
    .join('\n');
}

function table(path: string, schema: Schema): string {
  const rows = fields(path, schema).map(([field, type, about]) => `| \`${field}\` | ${type} | ${about} |`);
  return `| field | type | meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
}

function fields(path: string, schema: Schema): readonly (readonly [field: string, type: string, about: string])[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    const needed = schema.required?.includes(name) === true ? ', required' : '';
    const initial = field.default === undefined ? '' : `, default \`${JSON.stringify(field.default)}\``;
    const row = [at, `${typeOf(field)}${needed}${initial}`, oneLine(field.description).replaceAll('|', '\\|')] as const;
    const values = typeof field.additionalProperties === 'object' ? field.additionalProperties : {};
    return [row, ...fields(at, field), ...fields(`${at}[]`, field.items ?? {}), ...fields(`${at}.*`, values)];
  });
}

function typeOf(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string';
  if (schema.enum !== undefined) return `one of ${schema.enum.map((word) => `\`${String(word)}\``).join(', ')}`;
  if (schema.type === 'array') return listOf(schema.items ?? {});
  if (typeof schema.additionalProperties === 'object') return `map of ${typeOf(schema.additionalProperties)}s`;
  return `${schema.type ?? 'any value'}${schema.format === 'date-time' ? ' (time)' : ''}`;
}

function listOf(items: Schema): string {
  return items.enum === undefined ? `list of ${typeOf(items)}s` : `list of ${typeOf(items).replace(/^one/, 'any')}`;
}

const oneLine = (text: string | undefined): string => (text ?? '').replaceAll(/\s+/g, ' ').trim();
