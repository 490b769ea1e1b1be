/** What one answer may cost, in bytes. */
export interface ScanLimits {
  readonly total: number;
  /** One property value. */
  readonly value: number;
  /** One tag, comment or processing instruction. */
  readonly markup: number;
  readonly depth: number;
}

/** A page of 100 machines is 2 MB, the largest value of a sane machine 100 kB. */
export const SCAN_LIMITS: ScanLimits = { total: 256 << 20, value: 8 << 20, markup: 1 << 20, depth: 200 };
