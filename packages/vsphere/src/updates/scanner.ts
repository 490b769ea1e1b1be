import { textOf } from '../xml/xml.ts';
import { characterData, XmlSyntaxError } from '../xml/xml-characters.ts';
import { XmlScope } from '../xml/xml-scope.ts';
import { type Decode, decodeValue } from './decode-value.ts';
import { ItemRanges } from './item-ranges.ts';
import { KnownTexts } from './known-texts.ts';
import { BANG, endTagEnd, holds, isSpace, LT, localName, nameEnd, QUESTION, SLASH, tagEnd } from './markup.ts';
import { SCAN_LIMITS, type ScanLimits } from './scan-limits.ts';
import { namespacesOf, typeAttribute } from './tags.ts';
import { ANSWER, FIELD_BITS, type Field, type Frame, OF_CHANGE, OF_OBJECT, ruleFor } from './update-frames.ts';

/** Receives the changes of one answer, in order, object by object. What is thrown here ends the scan. */
export interface UpdateSink {
  /** `kind` is enter, modify or leave. */
  object(kind: string, type: string, value: string): void;
  /**
   * One property. `value` is the whole `val` element as it was sent, valid only during the call, and absent where the property is unset; `op` is assign, add,
   * remove or indirectRemove. `decode` reads it, during the call; `items` says where its children are, for as long.
   */
  change(path: string, op: string, value: Uint8Array | undefined, decode: Decode, items?: ItemRanges): void;
  /** A property that the server would not give. `fault` is its `LocalizedMethodFault`, valid only during the call. */
  missing(path: string, fault: Uint8Array | undefined, decode: Decode): void;
  objectEnd(): void;
}

/** What an answer says besides its objects. Without a version nothing happened within the time that was waited. */
export interface ScannedAnswer {
  readonly version: string | undefined;
  /** More is ready: the next call answers at once. */
  readonly truncated: boolean;
}

/**
 * Finds the objects and changes of a `WaitForUpdatesExResponse` in its bytes, without building the document: a page is megabytes, and nearly all of it is the same as
 * the last time. Well-formedness is checked where the structure depends on it; a value is passed on as bytes, and whoever wants to know what it says gets
 * a way to have it read by the strict tokenizer. Every failure is an `XmlSyntaxError`.
 *
 * ```
 *  Envelope › Body › WaitForUpdatesExResponse › returnval › version
 *                                                         › filterSet › objectSet › kind, obj
 *                                                         › truncated             › changeSet › name, op, val
 *                                                                                 › missingSet › path, fault
 * ```
 */
export class UpdateScanner {
  readonly #sink: UpdateSink;
  readonly #limits: ScanLimits;
  readonly #frames: Frame[] = [];
  /** Prefixes that the open frames declare, outermost first. */
  readonly #declared: (readonly string[])[] = [];
  readonly #scope = new XmlScope();
  readonly #obj = { type: '', value: '' };
  /** Most answers are one small change: it grows with what comes. */
  #window: Buffer = NOTHING;
  #end = 0;
  #at = 0;
  #bytes = 0;
  /** Bytes that have to come before what is not complete is looked at again. */
  #patience = 0;
  /** Open elements below the frame: inside a field, or inside something that we do not know. */
  #depth = 0;
  #field: Field | undefined;
  #fieldFrom = 0;
  #textFrom = 0;
  /** Children of the field, relative to where it starts; and of the one that is open, where it and its content start. */
  readonly #items = new ItemRanges();
  #itemFrom = 0;
  #itemContent = 0;
  #announced = false;
  #kind = '';
  #path: string | undefined;
  #op = '';
  /** Fields that were met, by their bits: each comes once. */
  #met = 0;
  #answered = false;
  #closed = false;
  #version: string | undefined;
  #truncated = false;

  constructor(sink: UpdateSink, limits: ScanLimits = SCAN_LIMITS) {
    this.#sink = sink;
    this.#limits = limits;
  }

  /** Takes the next bytes; they are copied. */
  feed(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#limits.total) throw new XmlSyntaxError(`the answer exceeds ${this.#limits.total} bytes`);
    this.#append(chunk);
    this.#patience -= chunk.byteLength;
    // From its start, so that a server that sends one byte at a time would make it cost the square of its length.
    if (this.#patience <= 0) this.#scan();
  }

  /** Says that the document is complete. Another one may follow; after an error none. */
  end(): ScannedAnswer {
    if (this.#patience > 0) this.#scan();
    if (!this.#closed || this.#end > this.#at) throw new XmlSyntaxError('the answer ends too early');
    if (!this.#answered) throw new XmlSyntaxError('the document is no answer to WaitForUpdatesEx');
    const answer = { version: this.#version, truncated: this.#truncated };
    [this.#end, this.#at, this.#bytes] = [0, 0, 0];
    [this.#answered, this.#closed, this.#version, this.#truncated, this.#met] = [false, false, undefined, false, 0];
    // Between two pages its room is needed, between two changes that of a page is not.
    if (!answer.truncated && this.#window.length > ROOM) this.#window = NOTHING;
    return answer;
  }

  readonly #decode: Decode = (value) => decodeValue(value, this.#scope);

  #append(chunk: Uint8Array): void {
    const keep = this.#depth > 0 && this.#field !== undefined ? this.#fieldFrom : this.#at;
    if (keep > 0) {
      this.#window.copyWithin(0, keep, this.#end);
      this.#end -= keep;
      this.#at -= keep;
      this.#fieldFrom -= keep;
      this.#textFrom -= keep;
    }
    const need = this.#end + chunk.byteLength;
    if (this.#end > this.#limits.value + this.#limits.markup)
      throw new XmlSyntaxError(`a value exceeds ${this.#limits.value} bytes`);
    if (need > this.#window.length) {
      const larger = Buffer.allocUnsafe(Math.max(need, 2 * this.#window.length));
      this.#window.copy(larger, 0, 0, this.#end);
      this.#window = larger;
    }
    this.#window.set(chunk, this.#end);
    this.#end = need;
  }

  #scan(): void {
    const bytes = this.#window;
    const end = this.#end;
    let at = this.#at;
    this.#patience = 0;
    for (;;) {
      if (this.#depth > 0) at = this.#passOver(at);
      while (at < end && bytes[at] !== LT) at += 1;
      this.#at = at;
      if (at + 1 >= end) break;
      const next = bytes[at + 1];
      const after =
        next === BANG
          ? this.#declarationEnd(at)
          : next === QUESTION
            ? this.#instructionEnd(at)
            : next === SLASH
              ? endTagEnd(bytes, at, end)
              : tagEnd(bytes, at, end);
      if (after < 0) {
        if (end - at > this.#limits.markup) throw new XmlSyntaxError(`markup exceeds ${this.#limits.markup} bytes`);
        if (end - at > SHORT) this.#patience = (end - at) >> 1;
        break;
      }
      if (next === SLASH) this.#close(at, after);
      else if (next !== BANG && next !== QUESTION) this.#open(at, after);
      at = after;
      this.#at = at;
    }
  }

  /** Passes over whole tags inside a field; most of an answer is that. Answers where it met anything else: the end of the field, or what is not here yet. */
  #passOver(from: number): number {
    const bytes = this.#window;
    const end = this.#end;
    const deepest = this.#limits.depth - this.#frames.length;
    let depth = this.#depth;
    let at = from;
    const base = this.#fieldFrom;
    const items = this.#items;
    for (;;) {
      if (depth === 1) for (; at < end && bytes[at] !== LT; at += 1) if (!isSpace(bytes[at])) items.plain = false;
      while (at < end && bytes[at] !== LT) at += 1;
      const next = bytes[at + 1];
      if (at + 1 >= end) break;
      if (next === BANG || next === QUESTION) {
        items.plain = false;
        break;
      }
      if (next === SLASH) {
        const close = depth === 1 ? -1 : endTagEnd(bytes, at, end);
        if (close < 0) break;
        depth -= 1;
        at = close;
        if (depth === 1) items.add(this.#itemFrom, at - base, this.#itemContent);
        continue;
      }
      const after = tagEnd(bytes, at, end);
      if (after < 0) break;
      if (bytes[after - 2] !== SLASH) {
        if (depth >= deepest) break;
        if (depth === 1) {
          this.#itemFrom = at - base;
          this.#itemContent = after - base;
        }
        depth += 1;
      } else if (depth === 1) items.add(at - base, after - base, after - base);
      at = after;
    }
    this.#depth = depth;
    return at;
  }

  /** A second declaration is the head of another document: two answers got into each other. */
  #instructionEnd(from: number): number {
    if (
      this.#frames.length > 0 &&
      /^<\?xml\s/.test(this.#window.toString('latin1', from, Math.min(this.#end, from + 6)))
    )
      throw new XmlSyntaxError('there is an XML declaration in the middle');
    return this.#behind('?>', from + 2);
  }

  #behind(mark: string, from: number): number {
    // Behind the end lies what an earlier answer left.
    const at = this.#window.subarray(0, this.#end).indexOf(mark, from, 'latin1');
    return at < 0 ? -1 : at + mark.length;
  }

  /** Comments and CDATA. A document type is refused: it could define entities. */
  #declarationEnd(from: number): number {
    const head = this.#window.toString('latin1', from, Math.min(this.#end, from + 9));
    if (head.startsWith('<!--')) return this.#behind('-->', from + 4);
    if (head === '<![CDATA[') {
      if (this.#depth === 0) throw new XmlSyntaxError('there is text where elements are expected');
      return this.#behind(']]>', from + 9);
    }
    if ('<!--'.startsWith(head) || '<![CDATA['.startsWith(head)) return -1;
    throw new XmlSyntaxError('there is a document type declaration');
  }

  #open(from: number, after: number): void {
    const empty = this.#window[after - 2] === SLASH;
    if (this.#depth > 0) {
      if (empty) return;
      this.#depth += 1;
      if (this.#depth + this.#frames.length > this.#limits.depth)
        throw new XmlSyntaxError(`elements are nested deeper than ${this.#limits.depth}`);
      return;
    }
    if (this.#closed) throw new XmlSyntaxError('there is content after the root element');
    const behind = nameEnd(this.#window, from + 1);
    const rule = ruleFor(this.#frames.at(-1), this.#window, localName(this.#window, from + 1, behind), behind);
    if (rule?.enters !== undefined) {
      this.#enter(rule.enters, behind, after);
      if (empty) this.#leave();
      return;
    }
    this.#field = rule?.field;
    this.#fieldFrom = from;
    this.#textFrom = after;
    this.#items.clear();
    if (empty) this.#fieldEnd(after, after);
    else this.#depth = 1;
  }

  #close(from: number, after: number): void {
    if (this.#depth > 0) {
      this.#depth -= 1;
      if (this.#depth === 0) this.#fieldEnd(from, after);
      return;
    }
    const frame = this.#frames.at(-1);
    const end = nameEnd(this.#window, from + 2);
    const start = localName(this.#window, from + 2, end);
    if (frame === undefined || !holds(this.#window, start, end, frame.bytes)) {
      const name = this.#window.toString('latin1', start, end);
      throw new XmlSyntaxError(`</${name}> closes ${frame === undefined ? 'nothing' : `<${frame.name}>`}`);
    }
    this.#leave();
  }

  /** `from` is where its attributes start. */
  #enter(frame: Frame, from: number, after: number): void {
    if (after - from <= 2) this.#declared.push(NO_PREFIXES);
    else {
      const { names, values } = namespacesOf(this.#window.toString('utf8', from, after));
      this.#declared.push(this.#scope.declare(names, values));
    }
    this.#frames.push(frame);
    if (frame.name === ANSWER) this.#answered = true;
    else if (frame.name === 'objectSet') {
      this.#announced = false;
      this.#kind = '';
      this.#obj.value = '';
      this.#met &= ~OF_OBJECT;
    } else if (frame.name === 'changeSet' || frame.name === 'missingSet') {
      this.#path = undefined;
      this.#op = '';
      this.#met &= ~OF_CHANGE;
      if (this.#frames.at(-2)?.name === 'objectSet') this.#announce();
    }
  }

  #leave(): void {
    const frame = this.#frames.pop();
    this.#scope.leave(this.#declared.pop() ?? NO_PREFIXES);
    if (this.#frames.length === 0) this.#closed = true;
    switch (frame?.name) {
      case 'changeSet':
        if ((this.#met & FIELD_BITS.val) === 0) this.#sink.change(this.#pathOf(), this.#op, undefined, this.#decode);
        break;
      case 'missingSet':
        if ((this.#met & FIELD_BITS.fault) === 0) this.#sink.missing(this.#pathOf(), undefined, this.#decode);
        break;
      case 'objectSet':
        this.#announce();
        this.#sink.objectEnd();
        break;
    }
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    if (this.#obj.type === '' || this.#kind === '')
      throw new XmlSyntaxError('an object comes without kind or reference');
    this.#sink.object(this.#kind, this.#obj.type, this.#obj.value);
  }

  /** `textEnd` is where the closing tag starts, `after` is behind it. */
  #fieldEnd(textEnd: number, after: number): void {
    const field = this.#field;
    this.#field = undefined;
    if (after - this.#fieldFrom > this.#limits.value)
      throw new XmlSyntaxError(`a value exceeds ${this.#limits.value} bytes`);
    if (field === undefined) return;
    const bit = FIELD_BITS[field];
    if ((this.#met & bit) !== 0) throw new XmlSyntaxError(`there are two elements ${field} where one is expected`);
    this.#met |= bit;
    switch (field) {
      case 'version':
        this.#version = this.#text(textEnd, after, false);
        return;
      case 'truncated':
        this.#truncated = ['true', '1'].includes(this.#text(textEnd, after).trim());
        return;
      case 'kind':
        this.#kind = this.#text(textEnd, after);
        return;
      case 'obj':
        this.#obj.value = this.#text(textEnd, after, false);
        this.#obj.type = typeAttribute(this.#window.toString('utf8', this.#fieldFrom, this.#textFrom));
        return;
      case 'name':
      case 'path':
        this.#path = this.#text(textEnd, after);
        return;
      case 'op':
        this.#op = this.#text(textEnd, after);
        return;
      case 'val':
        this.#sink.change(
          this.#pathOf(),
          this.#op,
          this.#window.subarray(this.#fieldFrom, after),
          this.#decode,
          this.#items,
        );
        return;
      case 'fault':
        this.#sink.missing(this.#pathOf(), this.#window.subarray(this.#fieldFrom, after), this.#decode);
        return;
    }
  }

  #pathOf(): string {
    if (this.#path === undefined) throw new XmlSyntaxError('a change comes without the name of its property');
    return this.#path;
  }

  /** Text of the field. Nearly always it is plain; whatever else is in it, the strict tokenizer reads. */
  #text(textEnd: number, after: number, again = true): string {
    const bytes = this.#window;
    for (let at = this.#textFrom; at < textEnd; at += 1) {
      const byte = bytes[at];
      if (byte === LT) return textOf(this.#decode(bytes.subarray(this.#fieldFrom, after)));
      if (byte === 0x26 || byte === 0x0d || (byte !== undefined && byte < 0x20))
        return characterData(bytes.toString('utf8', this.#textFrom, textEnd));
    }
    // References are as many as machines, and no version comes twice: to know each again would cost more than it spares.
    return again ? TEXTS.of(bytes, this.#textFrom, textEnd) : bytes.toString('utf8', this.#textFrom, textEnd);
  }
}

/** Bytes that cost nothing to look at again. */
const SHORT = 4096;
const NOTHING = Buffer.alloc(0);
const NO_PREFIXES: readonly string[] = [];
/** Bytes that are kept for the next answer. */
const ROOM = 256 * 1024;

/** Paths, kinds and operations are few, and come a million times. */
const TEXTS = new KnownTexts();
