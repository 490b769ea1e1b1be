/** Sections of a file by their names, each with its settings. */
export type Ini = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * Reads a file of credentials as the tools of AWS have it (docs.aws.amazon.com/sdkref/latest/guide/file-format.html): `[name]` or `[profile name]`, then `key = value`. What is
 * none of these is passed over.
 */
export function readIni(text: string): Ini {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed.startsWith('[') && trimmed.endsWith(']')) {
      const name = trimmed
        .slice(1, -1)
        .trim()
        .replace(/^profile\s+/, '');
      section = sections.get(name) ?? new Map<string, string>();
      sections.set(name, section);
      continue;
    }
    const equals = trimmed.indexOf('=');
    // An indented line belongs to the setting above it, and none that is used has such.
    if (equals <= 0 || /^[#;]/.test(trimmed) || /^\s/.test(line)) continue;
    section?.set(trimmed.slice(0, equals).trim().toLowerCase(), trimmed.slice(equals + 1).trim());
  }
  return sections;
}
