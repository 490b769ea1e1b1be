/** Where a watch says what it does. A pino logger fits. */
export interface WatchLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
