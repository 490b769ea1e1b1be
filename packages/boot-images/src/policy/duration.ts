const PARTS = /^(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?$/;

/** A duration such as `1h30m` in ms; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const found = text === '' ? null : PARTS.exec(text);
  if (found === null) return undefined;
  const [, hours = '0', minutes = '0', seconds = '0'] = found;
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}
