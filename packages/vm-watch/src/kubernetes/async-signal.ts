const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/**
 * Whether vCenter is watched at all: on by default, off by ASYNC_SIGNAL_DISABLED or ASYNC_SIGNAL_ENABLED, which are vm-operator's older and newer name. The words are those
 * of Go's strconv.ParseBool; any other, such as `yes`, is as if the variable were not set. Where the two contradict each other, off wins.
 */
export function asyncSignalEnabled(env: Readonly<Record<string, string | undefined>>): boolean {
  return !TRUE.has(env['ASYNC_SIGNAL_DISABLED'] ?? '') && !FALSE.has(env['ASYNC_SIGNAL_ENABLED'] ?? '');
}
