import { execFileSync } from 'node:child_process';
import { root } from './command.ts';

/** The files that differ from a revision, deleted ones too, and those that git does not know yet, from the root. Throws a RangeError where there is no such revision. */
export function changedFiles(revision: string): readonly string[] {
  const git = (...args: readonly string[]): readonly string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
      .split('\0')
      .filter((file) => file !== '');
  try {
    const changed = git('diff', '--name-only', '--relative', '-z', revision, '--');
    return [...new Set([...changed, ...git('ls-files', '--others', '--exclude-standard', '-z')])].sort();
  } catch (cause) {
    throw new RangeError(`git cannot compare with ${revision}; expected a revision, such as HEAD~1 or a branch`, {
      cause,
    });
  }
}
