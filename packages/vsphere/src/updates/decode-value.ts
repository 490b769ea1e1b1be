import type { XmlElement } from '../xml/xml.ts';
import type { XmlScope } from '../xml/xml-scope.ts';
import { TREE_LIMITS, type TreeLimits, xmlTreeBuilder } from '../xml/xml-tree.ts';

/** Reads what a sink was given, by the strict tokenizer and with the namespaces of its document. Fails with `XmlSyntaxError`. */
export type Decode = (bytes: Uint8Array) => XmlElement;

/** A value is read in one go, which must not take long: the largest of a sane machine has 10,000 nodes. */
const VALUE_LIMITS: TreeLimits = { ...TREE_LIMITS, nodes: 100_000 };

/** Reads one element in whose surroundings `scope` is declared. */
export function decodeValue(value: Uint8Array, scope: XmlScope): XmlElement {
  const builder = xmlTreeBuilder(VALUE_LIMITS, scope);
  builder.feed(value);
  return builder.end();
}
