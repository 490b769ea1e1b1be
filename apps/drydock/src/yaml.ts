import { escapedText } from '@drydock/api/text';
import { Document, type Scalar, visit } from 'yaml';

/**
 * A value as a YAML document that readers of YAML 1.1 and of YAML 1.2 read alike: kubectl, Go programs and most scripts read 1.1, for which an unquoted `on` is true, `1_000` a number and `1:30` ninety. Whatever prints YAML prints it by this.
 */
export function yamlText(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_key, scalar: Scalar) => {
      // A type of its own in YAML 1.1, of which the library knows nothing.
      if (scalar.value === '=') scalar.type = 'QUOTE_DOUBLE';
      // Only there it can be escaped.
      if (typeof scalar.value === 'string' && escapedText(scalar.value) !== scalar.value) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return escapedText(document.toString());
}
