import { readFile } from 'node:fs/promises';
import { shell } from './next-command.ts';
import { TemplateProblem } from './problem.ts';

/** The text of a file that a setting names; `what` names its kind, with a space behind it. */
export function readNamedFile(path: string, what = ''): Promise<string> {
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new TemplateProblem({
      code: 'FILE_UNREADABLE',
      message: `${what}${path} cannot be read: ${cause.message}`,
      next: shell`ls -l ${path}`,
      cause,
    });
  });
}
