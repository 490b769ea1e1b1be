import { realpath, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { shownText } from '@drydock/api/text';
import { replaceFileDurable } from '@drydock/durable';
import type { Placement, TemplateStore } from '@drydock/templates';
import { exitCode } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import { shell } from './next-command.ts';
import { TemplateProblem } from './problem.ts';

/** What a pointer says: the template that is the current one. */
export interface Pointer {
  /** The immutable name. */
  readonly template: string;
  readonly release?: string;
  readonly sha256?: string;
  readonly server?: string;
  /** Inventory path of the template. */
  readonly path?: string;
}

/** A file that pipelines read to learn the current template. */
export interface PointerFile {
  /** As it was given. */
  readonly path: string;
  /** What it points to now; undefined: there is no such file. */
  read(): Promise<string | undefined>;
  /** Replaces it atomically and durably; false where it says so already. */
  point(pointer: Pointer): Promise<boolean>;
}

/** A name, a digest and a path. */
const MAX_BYTES = 64 * 1024;

const KEYS = ['template', 'release', 'sha256', 'server', 'path'] as const;

/**
 * Opens a pointer file by its name: `.json` has all of {@link Pointer}; `.tfvars` and `.tfvars.json` have one variable, because Terraform warns of
 * others. A file that holds anything else is somebody's own and is refused before anything is done.
 */
export async function openPointer(path: string, variable: string): Promise<PointerFile> {
  const format = formatOf(path);
  if (!/^[A-Za-z_][\w-]*$/.test(variable)) {
    throw new TemplateProblem({
      code: 'VARIABLE_INVALID',
      message: `${variable} is no name of a variable: letters, digits, _ and - are allowed`,
    });
  }
  const read = async (): Promise<string | undefined> => {
    const content = await contentOf(path);
    return content === undefined || content.trim() === '' ? undefined : parsePointer(format, content, variable, path);
  };
  await read();
  await checkFolder(path);
  return {
    path,
    read,
    point: async (pointer) => {
      const content = renderPointer(format, pointer, variable);
      if ((await contentOf(path)) === content) return false;
      // A link stays a link: what it leads to is replaced.
      const target = await realPath(path);
      const mode = await stat(target).then(
        (found) => found.mode & 0o777,
        () => 0o644,
      );
      await replaceFileDurable(target, content, { mode });
      return true;
    },
  };
}

/**
 * Reads a pointer file that must name a template: one that is missing or empty would protect nothing, and look as if it did.
 */
export async function readNamed(path: string, variable: string): Promise<string> {
  const template = await (await openPointer(path, variable)).read();
  if (template !== undefined) return template;
  throw new TemplateProblem({
    code: 'POINTER_MISSING',
    message: `the pointer file ${path} is not there or names no template, so it would keep nothing`,
    exit: exitCode.blocked,
    next: shell`ls -l ${path}`,
  });
}

/** How a pointer file is called on the templates that it names: as its consumer, or as a file of this host. */
export async function pointerRecord(path: string, consumer: string | undefined): Promise<string> {
  return consumer ?? `${await realPath(path)} on ${hostname()}`;
}

/** Points a file to a template; false where it names that template already. */
export async function pointTo(
  store: Pick<TemplateStore, 'hold' | 'release'>,
  placement: Placement,
  to: Pointer,
  {
    pointer,
    consumer,
    signal,
  }: {
    readonly pointer: PointerFile;
    readonly consumer: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  const what = await pointerRecord(pointer.path, consumer);
  // First the record: a template that is pointed at and does not say so could be collected.
  await store.hold(placement, to.template, what, { signal });
  const changed = await pointer.point(to);
  await store.release(placement, what, { except: to.template, signal });
  return changed;
}

/** What a link leads to; the path itself where there is nothing. */
function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

const FORMATS = ['tfvars.json', 'tfvars', 'json'] as const;
type PointerFormat = (typeof FORMATS)[number];

function formatOf(path: string): PointerFormat {
  const format = FORMATS.find((ending) => path.endsWith(`.${ending}`));
  if (format !== undefined) return format;
  throw new TemplateProblem({
    code: 'POINTER_FORMAT',
    message: `the pointer file ${path} must end in .json, .tfvars or .tfvars.json: that says what is written`,
  });
}

/** The text of a pointer file. */
export function renderPointer(format: PointerFormat, pointer: Pointer, variable: string): string {
  if (format === 'tfvars') return `${variable} = "${escapeHcl(pointer.template)}"\n`;
  const said = format === 'json' ? KEYS.map((key) => [key, pointer[key]]) : [[variable, pointer.template]];
  // What is undefined is left out.
  return `${JSON.stringify(Object.fromEntries(said), undefined, 2)}\n`;
}

/** The template that a pointer file names. Refuses a file that says more than a pointer does: replacing it would lose that. */
export function parsePointer(format: PointerFormat, content: string, variable: string, path: string): string {
  if (format === 'tfvars') {
    const [, name, value = ''] = /^\s*([\w-]+)[^\S\n]*=[^\S\n]*"((?:[^"\\\n]|\\.)*)"\s*$/.exec(content) ?? [];
    const said = name === variable ? unescapeHcl(value) : undefined;
    if (said !== undefined) return said;
    throw foreign(path, `it should have one line, ${variable} = "…"`);
  }
  const wanted = format === 'json' ? 'template' : variable;
  const allowed: readonly string[] = format === 'json' ? KEYS : [variable];
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw foreign(path, 'it is no JSON');
  }
  const name = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[wanted] : undefined;
  if (typeof name !== 'string') throw foreign(path, `it has no text "${wanted}"`);
  const other = Object.keys(value as object).find((key) => !allowed.includes(key));
  if (other !== undefined) throw foreign(path, `it also has "${shownText(other)}"`);
  return name;
}

function foreign(path: string, why: string): TemplateProblem {
  return new TemplateProblem({
    code: 'POINTER_FOREIGN',
    message: `${path} exists and is no pointer file: ${why}. It would be replaced as a whole, so give a file of its own`,
    exit: exitCode.blocked,
    next: shell`cat ${path}`,
  });
}

function contentOf(path: string): Promise<string | undefined> {
  return readSmallFile(path, MAX_BYTES).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined;
    throw unusable(path, cause);
  });
}

async function checkFolder(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  const found = await stat(folder).catch((cause: unknown) => {
    throw unusable(path, cause);
  });
  if (!found.isDirectory()) throw unusable(path, new Error(`${folder} is no folder`));
}

function unusable(path: string, cause: unknown): TemplateProblem {
  return new TemplateProblem({
    code: 'POINTER_UNUSABLE',
    message: `the pointer file ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
    next: shell`ls -ld ${dirname(resolve(path))}`,
    cause,
  });
}

/** Quoted strings of HCL: backslash and quote are escaped, what an editor or a terminal would obey is written as its number, and the starts of templates are doubled. */
function escapeHcl(text: string): string {
  return text
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => {
      const code = one.codePointAt(0) ?? 0;
      return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
    })
    .replaceAll(/[$%]\{/g, (start) => `${start[0] ?? ''}${start}`);
}

/** Undefined: it names a character that there is not. */
function unescapeHcl(text: string): string | undefined {
  if ([...text.matchAll(/\\U([0-9a-f]{8})/g)].some(([, code = '']) => Number.parseInt(code, 16) > 0x10ffff))
    return undefined;
  return text
    .replaceAll(/([$%])\1\{/g, '$1{')
    .replaceAll(
      /\\(?:(["\\])|u([0-9a-f]{4})|U([0-9a-f]{8}))/g,
      (_found, plain?: string, short?: string, long?: string) =>
        plain ?? String.fromCodePoint(Number.parseInt(short ?? long ?? '', 16)),
    );
}
