import { SOAP_NS, VIM_NS, XSD_NS, XSI_NS } from '../../xml/xml.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import { propertyOf, type SyntheticMachine } from './inventory.ts';
import { NUMBER, type Profile } from './profile.ts';

/** One object of an answer. */
export interface Item {
  readonly machine: SyntheticMachine;
  readonly kind: 'enter' | 'modify' | 'leave';
  /** Of a modify: what changed. */
  readonly paths?: ReadonlySet<string>;
}

/** What a filter shows of a machine. */
export interface Shown {
  readonly paths: readonly string[];
  /** Paths that this user may not read → the fault. */
  readonly denied: ReadonlyMap<string, string>;
}

const HEAD = `<?xml version="1.0" encoding="UTF-8"?>\n<soapenv:Envelope xmlns:soapenv="${SOAP_NS}" xmlns:xsd="${XSD_NS}" xmlns:xsi="${XSI_NS}"><soapenv:Body>`;
const TAIL = '</soapenv:Body></soapenv:Envelope>';

/** An envelope around something. */
export function enveloped(body: string): string {
  return HEAD + body + TAIL;
}

/** `<missingSet>` or the like for one path. */
export function missing(path: string, fault: string, fields = ''): string {
  return `<missingSet><path>${escapeText(path)}</path><fault><fault xsi:type="${fault}">${fields}</fault><localizedMessage/></fault></missingSet>`;
}

/** A machine that enters as it was made, ready to be copied, and where its number belongs. */
interface Stamp {
  readonly bytes: Buffer;
  readonly numberAt: readonly number[];
}

/** Makes the answers of one filter. Machines that nobody changed are copied from one stamp per profile: a page of 1.8 MB takes half a millisecond. */
export class PageMaker {
  readonly #shown: Shown;
  readonly #filter: string;
  readonly #stamps = new Map<Profile, Stamp>();

  constructor(filter: string, shown: Shown) {
    this.#filter = filter;
    this.#shown = shown;
  }

  page(items: readonly Item[], version: string, truncated: boolean): Buffer {
    const head = Buffer.from(
      `${HEAD}<WaitForUpdatesExResponse xmlns="${VIM_NS}"><returnval><version>${version}</version><filterSet><filter type="PropertyFilter">${this.#filter}</filter>`,
    );
    const tail = Buffer.from(
      `</filterSet>${truncated ? '<truncated>true</truncated>' : ''}</returnval></WaitForUpdatesExResponse>${TAIL}`,
    );
    const parts = items.map((item) => this.#part(item));
    let size = head.length + tail.length;
    for (const { bytes } of parts) size += bytes.length;
    const page = Buffer.allocUnsafe(size);
    let at = head.copy(page);
    for (const { bytes, number, numberAt } of parts) {
      bytes.copy(page, at);
      for (const offset of numberAt) page.write(number, at + offset, 'latin1');
      at += bytes.length;
    }
    tail.copy(page, at);
    return page;
  }

  #part(item: Item): Stamp & { readonly number: string } {
    const { machine, kind } = item;
    if (kind !== 'enter' || machine.changed !== undefined)
      return { bytes: Buffer.from(this.#render(item)), number: '', numberAt: [] };
    let stamp = this.#stamps.get(machine.profile);
    if (stamp === undefined) {
      stamp = stampOf(this.#render({ kind, machine: { ...machine, moid: `vm-${NUMBER}`, number: NUMBER } }));
      this.#stamps.set(machine.profile, stamp);
    }
    return { ...stamp, number: machine.number };
  }

  #render({ machine, kind, paths }: Item): string {
    const { denied } = this.#shown;
    let text = `<objectSet><kind>${kind}</kind><obj type="VirtualMachine">${machine.moid}</obj>`;
    if (kind !== 'leave') {
      let refused = '';
      for (const path of this.#shown.paths) {
        if (paths?.has(path) === false) continue;
        const fault = denied.get(path);
        if (fault !== undefined) {
          refused += missing(path, fault);
          continue;
        }
        const val = propertyOf(machine, path);
        // A machine enters with what it has; only a change says that something is gone.
        if (val === undefined && kind === 'enter') continue;
        text += `<changeSet><name>${path}</name><op>assign</op>${val ?? ''}</changeSet>`;
      }
      text += refused;
    }
    return `${text}</objectSet>`;
  }
}

function stampOf(text: string): Stamp {
  const bytes = Buffer.from(text);
  const numberAt: number[] = [];
  for (let found = bytes.indexOf(NUMBER); found >= 0; found = bytes.indexOf(NUMBER, found + NUMBER.length))
    numberAt.push(found);
  return { bytes, numberAt };
}
