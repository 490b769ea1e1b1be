import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { GO_DIRECTORY } from '../paths.ts';

// Records how Kubernetes' own kinds are written in protobuf, for the embedded API server: kubectl sends them so. The numbers and types of fields are in the
// generated.proto of each module that go.mod pins; their names in JSON, and which are pointers, in the Go types beside it.

/** A field of a Go struct. */
interface GoField {
  readonly json: string;
  readonly pointer: boolean;
  readonly inline: boolean;
}

/** `[number, name in JSON, type, flags]`; a type is `s`, `i`, `b`, `y` or the full name of a message. */
type Field = readonly [number, string, string, number];

const REPEATED = 1;
const POINTER = 2;
const INLINE = 4;
const MAP = 8;

const SCALARS: Readonly<Record<string, string>> = {
  ...{ string: 's', bool: 'b', bytes: 'y' },
  ...{ int32: 'i', int64: 'i', uint32: 'i', uint64: 'i' },
};

const modules = ['k8s.io/api', 'k8s.io/apimachinery', 'k8s.io/apiextensions-apiserver', 'k8s.io/kube-aggregator'];
const cwd = join(GO_DIRECTORY, 'drydock-apiserver');
const messages: Record<string, readonly Field[]> = {};

for (const module of modules) {
  const folder = execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd, encoding: 'utf8' }).trim();
  for (const file of globSync('**/generated.proto', { cwd: folder })) {
    readProto(readFileSync(join(folder, file), 'utf8'), goFields(join(folder, dirname(file))));
  }
}

const text = JSON.stringify(messages);
const file = join(import.meta.dirname, '../embedded/apiserver/recorded/protobuf-messages.json.br');
const packed = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
writeFileSync(file, packed);
process.stdout.write(`${Object.keys(messages).length} messages, ${text.length} bytes, ${packed.length} compressed\n`);

/** Fields of the structs of a package, by `Struct number`. */
function goFields(folder: string): ReadonlyMap<string, GoField> {
  const found = new Map<string, GoField>();
  for (const source of globSync('*.go', { cwd: folder })) {
    if (source.startsWith('generated') || source.endsWith('_test.go')) continue;
    let struct = '';
    for (const line of readFileSync(join(folder, source), 'utf8').split('\n')) {
      struct = /^type (\w+) struct/.exec(line)?.[1] ?? (/^}/.test(line) ? '' : struct);
      const match = /^\s+(?:\w+\s+)?(\S+)\s+`json:"([^"]*)"\s+protobuf:"[^,]+,(\d+),/.exec(line);
      if (struct === '' || match === null) continue;
      const [, type = '', tag = '', number = ''] = match;
      const [json = '', ...options] = tag.split(',');
      found.set(`${struct} ${number}`, { json, pointer: type.startsWith('*'), inline: options.includes('inline') });
    }
  }
  return found;
}

function readProto(proto: string, fields: ReadonlyMap<string, GoField>): void {
  const [, pkg = ''] = /^package ([\w.]+);/m.exec(proto) ?? [];
  for (const [, message = '', body = ''] of proto.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const lines = body.matchAll(/^ {2}(optional|repeated|map<\w+, ([\w.]+)>)(?: ([\w.]+))? (\w+) = (\d+)/gm);
    messages[`${pkg}.${message}`] = [...lines].map(([, label = '', value, plain, name = '', number = '']) => {
      const field = fields.get(`${message} ${number}`);
      const type = value ?? plain ?? '';
      const flags =
        (label === 'repeated' ? REPEATED : 0) +
        (field?.pointer === true ? POINTER : 0) +
        (field?.inline === true ? INLINE : 0) +
        (value === undefined ? 0 : MAP);
      return [Number(number), field?.json || name, SCALARS[type] ?? qualified(type, pkg), flags];
    });
  }
}

/** Names of messages are relative to the package unless they begin with a dot. */
function qualified(type: string, pkg: string): string {
  if (type.startsWith('.')) return type.slice(1);
  return type.includes('.') ? type : `${pkg}.${type}`;
}
