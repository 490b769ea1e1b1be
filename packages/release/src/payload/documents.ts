/** One document of a file with several. */
export interface TextDocument {
  readonly text: string;
  /** In which line of the file it begins, from 1. */
  readonly line: number;
}

/** What stands alone in its line begins a document; what follows it in that line belongs to the document. */
const SEPARATOR = /^---(?=\s|$)/;

/** The documents of a YAML text, without those that are empty or hold nothing but comments. */
export function documentsIn(text: string): readonly TextDocument[] {
  const documents: TextDocument[] = [];
  let lines: string[] = [];
  let first = 1;
  const end = (): void => {
    if (lines.some((line) => /^\s*[^\s#]/.test(line))) documents.push({ text: lines.join('\n'), line: first });
  };
  for (const [at, line] of text.split('\n').entries()) {
    if (!SEPARATOR.test(line)) {
      lines.push(line);
      continue;
    }
    end();
    first = at + 1;
    // Spaces instead, so that columns stay what they were.
    lines = [`   ${line.slice(3)}`];
  }
  end();
  return documents;
}
