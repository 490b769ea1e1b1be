import { attributeText, characterData, isName, isSpace, XmlSyntaxError } from './xml-characters.ts';

/** Receives the document in order. Text may come in several runs; CDATA is text; comments and processing instructions are left out. */
export interface XmlSink {
  /** `names[i]` has the value `values[i]`. The arrays are the sink's to keep. */
  open(name: string, names: readonly string[], values: readonly string[]): void;
  close(name: string): void;
  text(text: string): void;
}

/** What a document may cost. Lengths are in bytes of input or characters. */
export interface XmlLimits {
  readonly depth: number;
  readonly total: number;
  /** Text directly inside one element. */
  readonly text: number;
  /** One tag or processing instruction. */
  readonly markup: number;
}

/** Real answers stay far below: 10 levels, 1 MB, 20 kB, 300 bytes. */
export const DEFAULT_XML_LIMITS: XmlLimits = { depth: 200, total: 256 << 20, text: 16 << 20, markup: 1 << 20 };

const NONE: readonly string[] = [];

/**
 * A strict push tokenizer for XML 1.0 in UTF-8 without DTD. Well-formedness is checked in full, except namespaces; whatever else is wrong is an
 * {@link XmlSyntaxError}: a DOCTYPE, an unknown entity, a duplicate attribute, content after the root, a truncated document, a limit.
 * It looks for the next `<` and `>` with `indexOf`, which is where the speed comes from.
 */
export class XmlTokenizer {
  readonly #sink: XmlSink;
  readonly #limits: XmlLimits;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #open: string[] = [];
  readonly #textLengths: number[] = [];
  #names = new Map<string, string>();
  #mode: 'start' | 'content' | 'cdata' | 'comment' = 'start';
  #rest = '';
  /** Input behind {@link XmlTokenizer.#rest} that has not been looked at, and how much of it there is. */
  #unread: string[] = [];
  #unreadLength = 0;
  #bytes = 0;
  #rootSeen = false;
  #broken: XmlSyntaxError | undefined;

  constructor(sink: XmlSink, limits: XmlLimits = DEFAULT_XML_LIMITS) {
    this.#sink = sink;
    this.#limits = limits;
  }

  /** Takes the next bytes. After an error every further call throws it again. */
  feed(chunk: Uint8Array): void {
    this.#guard(() => {
      this.#bytes += chunk.byteLength;
      if (this.#bytes > this.#limits.total)
        throw new XmlSyntaxError(`the document exceeds ${this.#limits.total} bytes`);
      this.#scan(this.#decode(chunk), false);
    });
  }

  /** Says that the document is complete. */
  end(): void {
    this.#guard(() => {
      this.#scan(this.#decode(), true);
      const unclosed = this.#open.at(-1);
      if (unclosed !== undefined) throw new XmlSyntaxError(`the document ends inside <${unclosed}>`);
      if (this.#mode !== 'content' || this.#rest !== '') throw new XmlSyntaxError('the document ends inside markup');
      if (!this.#rootSeen) throw new XmlSyntaxError('the document has no root element');
    });
  }

  #guard(step: () => void): void {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      step();
    } catch (error) {
      if (error instanceof XmlSyntaxError) this.#broken = error;
      throw error;
    }
  }

  #decode(chunk?: Uint8Array): string {
    try {
      return chunk === undefined ? this.#decoder.decode() : this.#decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new XmlSyntaxError('the document is not UTF-8', { cause });
    }
  }

  #scan(fresh: string, last: boolean): void {
    if (this.#waits(fresh) && !last) return;
    const s =
      this.#unreadLength > 0 ? this.#rest + this.#unread.join('') : this.#rest === '' ? fresh : this.#rest + fresh;
    [this.#rest, this.#unread, this.#unreadLength] = ['', [], 0];
    let at = 0;
    if (this.#mode === 'start') {
      if (s.length < 6 && !last) {
        this.#rest = s;
        return;
      }
      this.#mode = 'content';
      if (s.startsWith('<?xml') && isSpace(s.charCodeAt(5))) {
        at = this.#instruction(s, 0, true);
        if (at < 0) this.#mode = 'start';
      }
    }
    while (at >= 0 && at < s.length) {
      const next = this.#step(s, at, last);
      if (next < 0) {
        this.#rest = at === 0 ? s : s.slice(at);
        break;
      }
      at = next;
    }
    if (at < 0) this.#rest = s;
    if (this.#rest.length > this.#limits.markup)
      throw new XmlSyntaxError(`markup exceeds ${this.#limits.markup} characters`);
  }

  /**
   * What is not complete is looked at again from its start, so not at every chunk but when it has grown by half: a server that sends one byte at a time
   * would make it cost the square of its length.
   */
  #waits(fresh: string): boolean {
    if (this.#rest.length < SHORT) return false;
    this.#unread.push(fresh);
    this.#unreadLength += fresh.length;
    return 2 * this.#unreadLength < this.#rest.length;
  }

  /** Consumes one construct at `at`; the new position, or -1 when more input is needed. */
  #step(s: string, at: number, last: boolean): number {
    if (this.#mode === 'cdata') return this.#cdata(s, at);
    if (this.#mode === 'comment') return this.#comment(s, at);
    if (s.charCodeAt(at) !== 60 /* < */) return this.#characters(s, at, last);
    switch (s.charCodeAt(at + 1)) {
      case 47 /* / */:
        return this.#endTag(s, at);
      case 33 /* ! */:
        return this.#declaration(s, at);
      case 63 /* ? */:
        return this.#instruction(s, at, false);
      default:
        return this.#startTag(s, at);
    }
  }

  #characters(s: string, at: number, last: boolean): number {
    let end = s.indexOf('<', at);
    if (end < 0) end = last ? s.length : heldBack(s, at);
    if (end === at) return -1;
    const raw = s.slice(at, end);
    if (this.#open.length === 0) {
      for (let i = 0; i < raw.length; i++) {
        if (!isSpace(raw.charCodeAt(i))) throw new XmlSyntaxError('there is text outside the root element');
      }
    } else this.#text(characterData(raw));
    return end;
  }

  #text(text: string): void {
    if (text === '') return;
    const depth = this.#open.length - 1;
    const length = (this.#textLengths[depth] ?? 0) + text.length;
    if (length > this.#limits.text)
      throw new XmlSyntaxError(`text in <${this.#open[depth]}> exceeds ${this.#limits.text} characters`);
    this.#textLengths[depth] = length;
    this.#sink.text(text);
  }

  #cdata(s: string, at: number): number {
    const found = s.indexOf(']]>', at);
    let end = found >= 0 ? found : Math.max(at, s.length - 2);
    // A carriage return waits for its line feed.
    if (found < 0 && end > at && s.charCodeAt(end - 1) === 13) end--;
    if (end > at) this.#text(characterData(s.slice(at, end), true));
    if (found < 0) return end > at ? end : -1;
    this.#mode = 'content';
    return found + 3;
  }

  #comment(s: string, at: number): number {
    const found = s.indexOf('--', at);
    const end = found >= 0 ? found : s.endsWith('-') ? s.length - 1 : s.length;
    if (end > at) characterData(s.slice(at, end), true);
    if (found < 0) return end > at ? end : -1;
    if (found + 2 >= s.length) return found > at ? found : -1;
    if (s.charCodeAt(found + 2) !== 62) throw new XmlSyntaxError('there is "--" inside a comment');
    this.#mode = 'content';
    return found + 3;
  }

  #declaration(s: string, at: number): number {
    const head = s.slice(at, at + 9);
    if (head.startsWith('<!--')) {
      this.#mode = 'comment';
      return at + 4;
    }
    if (head === '<![CDATA[') {
      if (this.#open.length === 0) throw new XmlSyntaxError('there is text outside the root element');
      this.#mode = 'cdata';
      return at + 9;
    }
    if ('<!--'.startsWith(head) || '<![CDATA['.startsWith(head)) return -1;
    throw new XmlSyntaxError('document type declarations are not accepted');
  }

  #instruction(s: string, at: number, first: boolean): number {
    const end = s.indexOf('?>', at + 2);
    if (end < 0) return -1;
    const body = s.slice(at + 2, end);
    let cut = 0;
    while (cut < body.length && !isSpace(body.charCodeAt(cut))) cut++;
    const target = body.slice(0, cut);
    characterData(body, true);
    if (first) {
      if (!XML_DECLARATION.test(body)) throw new XmlSyntaxError('the XML declaration is not one of XML 1.0 in UTF-8');
    } else if (!isName(target)) throw new XmlSyntaxError('a processing instruction has no target');
    else if (target.toLowerCase() === 'xml') throw new XmlSyntaxError('an XML declaration is not at the start');
    return end + 2;
  }

  #endTag(s: string, at: number): number {
    const end = s.indexOf('>', at + 2);
    if (end < 0) return -1;
    let stop = end;
    while (stop > at + 2 && isSpace(s.charCodeAt(stop - 1))) stop--;
    const name = this.#open.at(-1);
    if (name === undefined || stop - at - 2 !== name.length || !s.startsWith(name, at + 2)) {
      throw new XmlSyntaxError(
        name === undefined ? 'an end tag closes nothing' : `<${name}> is closed by another end tag`,
      );
    }
    this.#open.pop();
    this.#textLengths.pop();
    this.#sink.close(name);
    return end + 1;
  }

  #startTag(s: string, at: number): number {
    let end = s.indexOf('>', at + 1);
    if (end < 0) return -1;
    let stop = at + 1;
    while (stop < end && !isSpace(s.charCodeAt(stop)) && s.charCodeAt(stop) !== 47) stop++;
    const name = this.#intern(s.slice(at + 1, stop));
    let empty = false;
    let names = NONE;
    let values = NONE;
    if (stop === end - 1 && s.charCodeAt(stop) === 47) empty = true;
    else if (stop < end) {
      const keys: string[] = [];
      const texts: string[] = [];
      const closing = this.#attributes(s, stop, keys, texts);
      if (closing < 0) return -1;
      empty = s.charCodeAt(closing) === 47;
      end = empty ? closing + 1 : closing;
      names = keys;
      values = texts;
    }
    if (this.#open.length === 0 && this.#rootSeen) throw new XmlSyntaxError('there is a second root element');
    if (this.#open.length >= this.#limits.depth)
      throw new XmlSyntaxError(`elements are nested deeper than ${this.#limits.depth}`);
    this.#rootSeen = true;
    this.#sink.open(name, names, values);
    if (empty) this.#sink.close(name);
    else {
      this.#open.push(name);
      this.#textLengths.push(0);
    }
    return end + 1;
  }

  /** Reads attributes from `at` on; the position of `>` or of the `/` before it, or -1 when more input is needed. */
  #attributes(s: string, from: number, names: string[], values: string[]): number {
    let at = from;
    for (;;) {
      const gap = at;
      while (at < s.length && isSpace(s.charCodeAt(at))) at++;
      if (at >= s.length) return -1;
      const code = s.charCodeAt(at);
      if (code === 62) return at;
      if (code === 47) {
        if (at + 1 >= s.length) return -1;
        if (s.charCodeAt(at + 1) !== 62) throw new XmlSyntaxError('a "/" stands inside a tag');
        return at;
      }
      if (gap === at) throw new XmlSyntaxError('attributes are not separated by white space');
      const equals = s.indexOf('=', at);
      // Without this bound, a tag with no "=" would look for one in the whole chunk.
      const close = s.indexOf('>', at);
      if (equals < 0 || (close >= 0 && close < equals)) {
        if (close < 0) return -1;
        throw new XmlSyntaxError('an attribute has no value');
      }
      let stop = equals;
      while (stop > at && isSpace(s.charCodeAt(stop - 1))) stop--;
      const name = this.#intern(s.slice(at, stop));
      at = equals + 1;
      while (at < s.length && isSpace(s.charCodeAt(at))) at++;
      if (at >= s.length) return -1;
      const quote = s.charCodeAt(at);
      if (quote !== 34 && quote !== 39) throw new XmlSyntaxError(`the value of ${name} is not quoted`);
      const end = s.indexOf(quote === 34 ? '"' : "'", at + 1);
      if (end < 0) return -1;
      if (names.includes(name)) throw new XmlSyntaxError(`attribute ${name} appears twice`);
      if (names.length >= MAX_ATTRIBUTES)
        throw new XmlSyntaxError(`an element has more than ${MAX_ATTRIBUTES} attributes`);
      names.push(name);
      values.push(attributeText(s.slice(at + 1, end)));
      at = end + 1;
    }
  }

  /** Checks a name once and returns a copy that does not keep the chunk alive. */
  #intern(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (!isName(name)) throw new XmlSyntaxError('a tag or an attribute has no valid name');
    if (this.#names.size >= MAX_NAMES) this.#names = new Map();
    const copy = Buffer.from(name, 'utf8').toString('utf8');
    this.#names.set(copy, copy);
    return copy;
  }
}

/** Characters that cost nothing to look at again. */
const SHORT = 4096;
const MAX_ATTRIBUTES = 256;
const MAX_NAMES = 4096;
const XML_DECLARATION =
  /^xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(["'])1\.0\1(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(["'])[Uu][Tt][Ff]-8\2)?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(["'])(?:yes|no)\3)?[ \t\r\n]*$/;

/** The end of the text that can be decoded now: not inside a reference, a `]]>` or a CR LF. */
function heldBack(s: string, at: number): number {
  const amp = s.lastIndexOf('&');
  if (amp >= at && s.indexOf(';', amp) < 0) return amp;
  let end = s.length;
  if (s.charCodeAt(end - 1) === 13) return Math.max(at, end - 1);
  for (let i = 0; i < 2 && end > at && s.charCodeAt(end - 1) === 93; i++) end--;
  return end;
}
