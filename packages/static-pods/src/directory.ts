/** Name of the lock in a directory that has several writers. */
export const LOCK_NAME = '.drydock.lock';

/** Permissions of every directory. */
export const DIRECTORY_MODE = 0o755;
